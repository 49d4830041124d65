import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchDevice, BenchLogin } from '#scripts/rig/gateway-api.ts'
import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import { compareP99, countLost, type LoadPair, PUBACK_COLUMNS, pubackCells } from '#scripts/rig/load/beside.ts'
import type { LoadResult } from '#scripts/rig/load/plan.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { readCpuSeconds } from '#scripts/rig/process-usage.ts'
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
import { startNeighbour } from './children.ts'
import { BAD_NEIGHBOURS, type NeighbourKind, type NeighbourResult } from './neighbour-plan.ts'

const DEVICES = 200
const PER_DEVICE_PER_S = 1
const WARMUP_S = 1
const TARGET_RATIO = 1.5
/** Time for a noisy client to start, and for the gateway to recover from it. */
const SETTLE_MS = 3000
const LIFE_MARGIN_S = 120

interface Environment {
  context: ScenarioContext
  gateway: GatewayProcess
  devices: BenchDevice[]
  spare: BenchDevice
  login: BenchLogin
  durationS: number
}

interface Pair extends LoadPair {
  kind: NeighbourKind
  gatewayCpuShare: number
  neighbour: NeighbourResult
}

/** Measures what a client that behaves badly costs the others. */
export async function runNeighbours(context: ScenarioContext): Promise<ScenarioReport> {
  const rounds = context.rounds ?? (context.isShort ? 1 : 5)
  const durationS = context.durationS ?? (context.isShort ? 5 : 20)
  const gateway = await startGateway(context.bench, {
    entry: context.entry,
    dataDir: context.bench.createFolder('neighbours'),
    env: {
      // one for # and 100 more
      CARTBARN_MQTT_SUBSCRIPTIONS: '101',
      // the default of an installation
      CARTBARN_MQTT_MESSAGES_PER_SECOND: '500',
      CARTBARN_MQTT_CONNECTIONS_PER_ADDRESS: '2500',
      CARTBARN_MQTT_FAILED_LOGINS_PER_SECOND: '5',
    },
  })
  const [spare, ...devices] = await gateway.api.registerDevices(DEVICES + 1)
  if (spare === undefined) throw new Error('no devices')
  const login = await gateway.api.createAdmin('neighbour')
  const environment = { context, gateway, devices, spare, login, durationS }
  const pairs: Pair[] = []
  for (const kind of BAD_NEIGHBOURS) {
    for (let round = 0; round < rounds; round++) {
      const pair = await measurePair(environment, kind)
      const [, , alone, beside] = pubackCells([pair])
      printProgress(`  ${kind}: PUBACK p99 ${alone} ms alone, ${beside} ms disturbed`)
      pairs.push(pair)
    }
  }
  await gateway.process.stop()
  print(pairs, durationS)
  return { figures: createFigures(pairs, context.isShort), raw: { rounds, durationS, pairs } }
}

async function measurePair(environment: Environment, kind: NeighbourKind): Promise<Pair> {
  const { context, gateway, spare: device, login, durationS } = environment
  const alone = await loadOnce(environment)
  const plan = { port: gateway.ports.mqtt, login, device, lifeS: durationS + LIFE_MARGIN_S }
  const neighbour = await startNeighbour(context.bench, kind, plan)
  await sleep(SETTLE_MS)
  const [cpuBefore, startMs] = [readCpuSeconds(gateway.process.pid), performance.now()]
  const beside = await loadOnce(environment)
  const tookS = (performance.now() - startMs) / 1000
  const gatewayCpuShare = (readCpuSeconds(gateway.process.pid) - cpuBefore) / tookS
  const result = await neighbour.call('result')
  await neighbour.stop()
  await sleep(SETTLE_MS)
  return { kind, alone, beside, gatewayCpuShare, neighbour: result }
}

function loadOnce({ context, gateway, devices, durationS }: Environment): Promise<LoadResult> {
  const options = { warmupS: WARMUP_S, durationS }
  return startDeviceLoad(context.bench, gateway, devices, PER_DEVICE_PER_S, options).result()
}

function print(pairs: readonly Pair[], durationS: number): void {
  const rows = [...Map.groupBy(pairs, ({ kind }) => kind)].map(([kind, group]) => {
    return [
      kind,
      ...pubackCells(group),
      compareP99(group).ratio.toFixed(2),
      `${(median(group.map(({ gatewayCpuShare }) => gatewayCpuShare)) * 100).toFixed(0)} %`,
      Object.entries(group.at(-1)?.neighbour.counts ?? {})
        .map(([name, count]) => `${count} ${name}`)
        .join(', '),
    ]
  })
  const header = ['medians', ...PUBACK_COLUMNS, 'ratio', 'gateway CPU', 'it did']
  printTable(`Neighbours: PUBACK in ms, ${DEVICES} devices, ${durationS} s a run`, header, rows)
}

function createFigures(pairs: readonly Pair[], isShort: boolean): Figure[] {
  const reconnects = pairs.reduce((sum, { beside }) => sum + beside.reconnects, 0)
  const lost = countLost(pairs.map(({ beside }) => beside)) + reconnects
  const letIn = pairs.reduce((sum, { neighbour }) => sum + (neighbour.counts['let in'] ?? 0), 0)
  return [
    ...[...Map.groupBy(pairs, ({ kind }) => kind)].map(([kind, group]) => {
      const { ratio, detail } = compareP99(group)
      const name = `neighbours: PUBACK p99 disturbed : alone, ${kind}`
      return atMost(name, ratio, TARGET_RATIO, { digits: 2, detail, isJudged: !isShort })
    }),
    noneOf('neighbours: not acknowledged, or cut off', lost),
    noneOf('neighbours: logins with a wrong password', letIn),
  ]
}
