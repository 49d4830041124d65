import { ForkedScript } from '#scripts/rig/calls.ts'
import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
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
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { must, openCourse, registerCarts } from '#scripts/rig/staff-course.ts'
import type { BarnFunctions } from './barn-devices.ts'

const LOCKED = 500
const RECALLED = 200
const OTHERS = 200
const SHORT = { locked: 20, recalled: 10, others: 10 }
const ROUNDS = 3
const TARGET_S = 3
const TARGET_RATIO = 2
const RECEIVED_LIMIT_MS = 30_000
/** Length of each of the two measurements; the orders are given when the second begins. */
const DURATION_S = 4

interface Order {
  name: string
  count: number
  /** Gives the order; returns the number of refusals in the response. */
  give(gateway: GatewayProcess): Promise<number>
  takeBack(gateway: GatewayProcess): Promise<void>
}

interface Run {
  order: string
  /** Time until the last device had received it; null if not all did. */
  receivedAfterS: number | null
  refused: number
  pair: LoadPair
}

/** Measures locking all carts with one request, and recalling all screens with another, while devices report. */
export async function runOrders(context: ScenarioContext): Promise<ScenarioReport> {
  const { bench, entry, isShort } = context
  const rounds = context.rounds ?? (isShort ? 1 : ROUNDS)
  const durationS = context.durationS ?? (isShort ? 1 : DURATION_S)
  const sizes = isShort ? SHORT : { locked: LOCKED, recalled: RECALLED, others: OTHERS }
  const gateway = await startGateway(bench, { entry, dataDir: bench.createFolder('orders') })
  await openCourse(gateway)
  const locks = await registerCarts(gateway, { count: sizes.locked, deviceType: 'teebox', id: 'lock' })
  const screens = await registerCarts(gateway, {
    count: sizes.recalled,
    deviceType: 'cartcaddie',
    id: 'screen',
  })
  const others = await gateway.api.registerDevices(sizes.others)
  const orders = [lockAll(sizes.locked), recallAll(screens.length)]
  const runs: Run[] = []
  for (let round = 0; round < rounds; round++) {
    for (const [i, order] of orders.entries()) {
      const devices = i === 0 ? locks : screens
      const run = await measure(context, gateway, { order, devices, others, durationS })
      printProgress(`  ${order.name}: ${run.receivedAfterS?.toFixed(2) ?? 'not all'} s`)
      runs.push(run)
    }
  }
  await gateway.process.stop()
  print(runs)
  return { figures: createFigures(runs, !isShort), raw: { rounds, durationS, runs } }
}

function lockAll(count: number): Order {
  const carts = Array.from({ length: count }, (_, i) => `lock ${i + 1}`)
  return {
    name: `lock ${count} carts`,
    count,
    give: async (gateway) => {
      const { results } = await must(gateway, 'POST', '/carts/lock', { carts })
      return results.filter(({ code }: { code?: string }) => code !== undefined).length
    },
    takeBack: async () => undefined,
  }
}

function recallAll(count: number): Order {
  return {
    name: `recall ${count} screens`,
    count,
    give: async (gateway) => {
      await must(gateway, 'POST', '/recall', {})
      return 0
    },
    takeBack: async (gateway) => {
      await must(gateway, 'DELETE', '/recall')
    },
  }
}

interface Measured {
  order: Order
  devices: readonly BenchDevice[]
  others: readonly BenchDevice[]
  durationS: number
}

async function measure(
  { bench }: ScenarioContext,
  gateway: GatewayProcess,
  { order, devices, others, durationS }: Measured,
): Promise<Run> {
  const script = new URL('./barn-devices.ts', import.meta.url)
  const barn = new ForkedScript<BarnFunctions>(bench, 'devices in the barn', script)
  await barn.call('connect', gateway.ports.mqtt, devices)
  await barn.call('report')
  const load = (): Promise<LoadResult> => beside(() => Promise.resolve())
  const beside = async (work: () => Promise<void>): Promise<LoadResult> => {
    const running = startDeviceLoad(bench, gateway, others, 1, { warmupS: 1, durationS })
    await running.measuring()
    await work()
    return running.result()
  }
  const alone = await load()
  await barn.call('forget')
  let [refused, receivedAfterS]: [number, number | null] = [0, null]
  const disturbed = await beside(async () => {
    const startedAtMs = Date.now()
    refused = await order.give(gateway)
    const receivedAtMs = await barn.call('lastReceivedAtMs', order.count - refused, RECEIVED_LIMIT_MS)
    receivedAfterS = receivedAtMs === null ? null : (receivedAtMs - startedAtMs) / 1000
  })
  await order.takeBack(gateway)
  await barn.stop()
  return { order: order.name, receivedAfterS, refused, pair: { alone, beside: disturbed } }
}

function print(runs: readonly Run[]): void {
  const rows = namesOf(runs).map((name) => {
    const own = runs.filter(({ order }) => order === name)
    const received = own.map(({ receivedAfterS }) => receivedAfterS ?? Number.POSITIVE_INFINITY)
    return [name, median(received).toFixed(2), ...pubackCells(own.map(({ pair }) => pair))]
  })
  printTable('Orders to all', ['medians', 'received by all, s', ...PUBACK_COLUMNS], rows)
}

function createFigures(runs: readonly Run[], isJudged: boolean): Figure[] {
  return namesOf(runs).flatMap((name) => {
    const own = runs.filter(({ order }) => order === name)
    const received = own.map(({ receivedAfterS }) => receivedAfterS ?? Number.POSITIVE_INFINITY)
    const pairs = own.map(({ pair }) => pair)
    const { ratio, detail } = compareP99(pairs)
    return [
      noneOf(
        `staff: ${name}: refused`,
        own.reduce((sum, { refused }) => sum + refused, 0),
      ),
      atMost(`staff: ${name}: at the last of them`, median(received), TARGET_S, {
        unit: ' s',
        digits: 2,
        isJudged,
      }),
      atMost(`staff: ${name}: PUBACK p99 of others disturbed : alone`, ratio, TARGET_RATIO, {
        digits: 2,
        detail,
        isJudged,
      }),
      noneOf(`staff: ${name}: messages of others lost`, countLost(pairs.flatMap(Object.values))),
    ]
  })
}

function namesOf(runs: readonly Run[]): string[] {
  return [...new Set(runs.map(({ order }) => order))]
}
