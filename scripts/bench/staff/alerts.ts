import { ForkedScript } from '#scripts/rig/calls.ts'
import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import { compareP99, countLost, type LoadPair, PUBACK_COLUMNS, pubackCells } from '#scripts/rig/load/beside.ts'
import type { LoadResult } from '#scripts/rig/load/plan.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import {
  atMost,
  type Figure,
  median,
  noneOf,
  printProgress,
  printTable,
  type ScenarioReport,
  withoutTarget,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { ALL_LOW_V, must, NONE_LOW_V, openCourse, registerCarts } from '#scripts/rig/staff-course.ts'
import { mustReach } from '#scripts/rig/wait-until.ts'
import type { BarnFunctions } from './barn-devices.ts'
import type { ReceiverFunctions } from './receivers.ts'
import type { TabletFunctions } from './tablets.ts'
import { createStaff } from './tablets-return.ts'

const SIZES = { carts: 500, others: 200, receivers: 20, tablets: 4 }
const SHORT = { carts: 20, others: 10, receivers: 4, tablets: 2 }
const ROUNDS = 3
const DURATION_S = 5
const TARGET_MS = 1000
const TARGET_RATIO = 2
const LIMIT_MS = 60_000
/** Limit until the batteries count as at rest, which takes one tick. */
const RESTING_LIMIT_MS = 30_000

interface Run {
  /** Time since the alert was opened, for the slowest alert and tablet; null if not all arrived. */
  slowestMs: number | null
  /** Time from the devices' reports until all webhooks that respond had all alerts; null if not all did. */
  deliveredMs: number | null
  pair: LoadPair
}

interface Course {
  gateway: GatewayProcess
  sizes: typeof SIZES
  tablets: ForkedScript<TabletFunctions>
  receivers: ForkedScript<ReceiverFunctions>
  others: Parameters<typeof startDeviceLoad>[2]
  durationS: number
}

/** Measures alerts of all carts together (low batteries), while half of the recipients do not respond. */
export async function runAlerts(context: ScenarioContext): Promise<ScenarioReport> {
  const { bench, entry, isShort } = context
  const rounds = context.rounds ?? (isShort ? 1 : ROUNDS)
  const durationS = context.durationS ?? (isShort ? 2 : DURATION_S)
  const sizes = isShort ? SHORT : SIZES
  const gateway = await startGateway(bench, { entry, dataDir: bench.createFolder('alerts') })
  await openCourse(gateway)
  const carts = await registerCarts(gateway, { count: sizes.carts, deviceType: 'teebox', id: 'cart' })
  const others = await gateway.api.registerDevices(sizes.others)
  const fork = (name: string) => new URL(`./${name}.ts`, import.meta.url)
  const barn = new ForkedScript<BarnFunctions>(bench, 'devices in the barn', fork('barn-devices'))
  await barn.call('connect', gateway.ports.mqtt, carts)
  await barn.call('report')
  const receivers = new ForkedScript<ReceiverFunctions>(bench, 'receivers', fork('receivers'))
  await registerReceivers(gateway, await receivers.call('listen'), sizes.receivers)
  const tablets = new ForkedScript<TabletFunctions>(bench, 'tablets', fork('tablets'))
  await tablets.call('signIn', {
    port: gateway.ports.http,
    apiKey: await createStaff(gateway),
    tablets: sizes.tablets,
  })
  await untilResting(gateway, barn, sizes.carts)
  await tablets.call('allLiveAtMs', sizes.carts, LIMIT_MS)
  const course: Course = { gateway, sizes, tablets, receivers, others, durationS }
  const runs: Run[] = []
  for (let round = 0; round < rounds; round++) {
    const run = await measure(context, course)
    printProgress(`  slowest alert ${run.slowestMs ?? 'missing'} ms`)
    runs.push(run)
  }
  await Promise.all([tablets.stop(), receivers.stop(), barn.stop(), gateway.process.stop()])
  print(runs)
  return { figures: createFigures(runs, sizes, !isShort), raw: { rounds, durationS, runs } }
}

/** Registers webhooks and notifiers; half of them point to an address that does not respond. */
async function registerReceivers(gateway: GatewayProcess, port: number, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const way = i % 2 === 0 ? 'ok' : 'hang'
    const url = (kind: string) => `http://127.0.0.1:${port}/${way}/${kind}-${i}`
    await must(gateway, 'POST', '/webhooks', { url: url('webhook'), kinds: ['low_battery'] })
    await must(gateway, 'POST', '/notifiers', { channel: 'ntfy', to: url('notifier') })
  }
}

/** Waits until every cart has a resting voltage, none of which is low. */
async function untilResting(gateway: GatewayProcess, barn: ForkedScript<BarnFunctions>, count: number): Promise<void> {
  const isResting = async () => {
    await barn.call('report')
    const { carts } = await must(gateway, 'GET', '/carts')
    const resting = carts.filter(
      ({ battery }: { battery: { rest_voltage: number | null } | null }) => battery?.rest_voltage != null,
    )
    return resting.length >= count
  }
  await mustReach(isResting, RESTING_LIMIT_MS, 'batteries are not at rest', 500)
}

async function measure({ bench }: ScenarioContext, course: Course): Promise<Run> {
  const { gateway, sizes, tablets, receivers, others, durationS } = course
  const beside = async (work: () => Promise<void>): Promise<LoadResult> => {
    const running = startDeviceLoad(bench, gateway, others, 1, { warmupS: 1, durationS })
    await running.measuring()
    await work()
    return running.result()
  }
  const alone = await beside(() => Promise.resolve())
  await tablets.call('forgetAlerts')
  await receivers.call('forget')
  let slowestMs: number | null = null
  const disturbed = await beside(async () => {
    await setLow(gateway, ALL_LOW_V)
    slowestMs = await tablets.call('slowestAlertMs', sizes.carts, LIMIT_MS)
  })
  const answering = Array.from({ length: sizes.receivers / 2 }, (_, i) => `/ok/webhook-${2 * i}`)
  const deliveredMs = await receivers.call('waitFor', answering, sizes.carts, LIMIT_MS)
  await setLow(gateway, NONE_LOW_V)
  const isOver = async () => {
    const { alerts } = await must(gateway, 'GET', '/alerts?state=open&kind=low_battery&limit=1')
    return alerts.length === 0
  }
  await mustReach(isOver, LIMIT_MS, 'alerts were not closed', 100)
  return { slowestMs, deliveredMs, pair: { alone, beside: disturbed } }
}

function setLow(gateway: GatewayProcess, lowV: number): Promise<unknown> {
  return must(gateway, 'PATCH', '/site', { pack: { low_v: lowV } })
}

function slowest(runs: readonly Run[]): number {
  return median(runs.map(({ slowestMs }) => slowestMs ?? Number.POSITIVE_INFINITY))
}

function print(runs: readonly Run[]): void {
  const row = [slowest(runs).toFixed(0), ...pubackCells(runs.map(({ pair }) => pair))]
  printTable('Alerts', ['', 'slowest ms', ...PUBACK_COLUMNS], [['medians', ...row]])
}

function createFigures(runs: readonly Run[], { carts, receivers }: typeof SIZES, isJudged: boolean): Figure[] {
  const pairs = runs.map(({ pair }) => pair)
  const { ratio, detail } = compareP99(pairs)
  const delivered = runs.map(({ deliveredMs }) => deliveredMs ?? Number.POSITIVE_INFINITY)
  return [
    atMost(`staff: ${carts} alerts together: at the last tablet`, slowest(runs), TARGET_MS, {
      unit: ' ms',
      isJudged,
    }),
    atMost('staff: alerts: PUBACK p99 of others disturbed : alone', ratio, TARGET_RATIO, {
      digits: 2,
      detail,
      isJudged,
    }),
    noneOf(
      `staff: runs in which responsive webhooks waited for the hanging ones of ${receivers}`,
      delivered.filter((ms) => ms > LIMIT_MS).length,
    ),
    withoutTarget('staff: alerts at all responsive webhooks', `${(median(delivered) / 1000).toFixed(1)} s later`),
    noneOf('staff: alerts: messages of others lost', countLost(pairs.flatMap(Object.values))),
  ]
}
