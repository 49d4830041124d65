import { ForkedScript } from '#scripts/rig/calls.ts'
import { ADMIN_KEY, startGateway } from '#scripts/rig/gateway-process.ts'
import type { LoadResult } from '#scripts/rig/load/plan.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { readCpuSeconds, readMainThreadCpuSeconds } from '#scripts/rig/process-usage.ts'
import {
  atMost,
  type Figure,
  formatCount,
  formatMs,
  formatPercent,
  noneOf,
  printProgress,
  printTable,
  type ScenarioReport,
  withoutTarget,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import type { ReaderFunctions, ReadersResult } from './readers.ts'

/** Subscriptions of the readers and rate of messages. */
interface FanOut {
  name: string
  sockets: number
  devices: number
  perDevicePerS: number
  hardwareIds(all: readonly string[]): readonly string[]
}

const WARMUP_S = 2
/** Two runs of 10 s are more reliable than one of 20, because the other load of the machine changes. */
const DURATION_S = 10
const DELIVERY_LIMIT_MS = 30_000
const MAIN_THREAD_TARGET = 30
const PUBACK_TARGET = 2

const EVERYTHING: FanOut = {
  name: 'everything',
  sockets: 500,
  devices: 200,
  perDevicePerS: 5,
  hardwareIds: () => ['*'],
}
const NAMED: FanOut = { ...EVERYTHING, name: 'named', hardwareIds: (all) => all }

interface Outcome {
  load: LoadResult
  /** CPU seconds per second. */
  mainThread: number
  process: number
  /** Results of the measured time and of the time after it. */
  readers: ReadersResult | null
  expected: number
}

/** 500 sockets on everything, 1,000 messages a second. */
export function runEverything(context: ScenarioContext): Promise<ScenarioReport> {
  return run(context, EVERYTHING)
}

/** The same, with a list of all devices in place of `*`. */
export function runNamed(context: ScenarioContext): Promise<ScenarioReport> {
  return run(context, NAMED)
}

async function run(context: ScenarioContext, given: FanOut): Promise<ScenarioReport> {
  const fanOut = context.isShort ? { ...given, sockets: 50, devices: 20 } : given
  const durationS = context.durationS ?? (context.isShort ? 3 : DURATION_S)
  const alone = await measure(context, { ...fanOut, sockets: 0 }, durationS)
  const read = await measure(context, fanOut, durationS)
  print(fanOut, durationS, alone, read)
  const figures = createFigures(fanOut, alone, read, !context.isShort)
  return { figures, raw: { durationS, alone, read } }
}

async function measure({ bench, entry }: ScenarioContext, fanOut: FanOut, durationS: number): Promise<Outcome> {
  const { sockets, devices, perDevicePerS } = fanOut
  printProgress(`  ${devices * perDevicePerS} messages a second, ${sockets} sockets, ${durationS} s`)
  const dataDir = bench.createFolder('realtime')
  const env = { CARTBARN_USER_REALTIME_SOCKETS: String(Math.max(1, sockets)) }
  const gateway = await startGateway(bench, { entry, dataDir, env })
  const clients = await gateway.api.registerDevices(devices)
  const script = new URL('./readers.ts', import.meta.url)
  const readers = new ForkedScript<ReaderFunctions>(bench, 'realtime readers', script)
  const hardwareIds = fanOut.hardwareIds(clients.map(({ hardwareId }) => hardwareId))
  await readers.call('subscribe', { port: gateway.ports.http, apiKey: ADMIN_KEY, sockets, hardwareIds })

  const options = { warmupS: WARMUP_S, durationS }
  const load = startDeviceLoad(bench, gateway, clients, perDevicePerS, options)
  await load.measuring()
  const { pid } = gateway.process
  const [startedAtMs, mainBeforeS, allBeforeS] = [performance.now(), readMainThreadCpuSeconds(pid), readCpuSeconds(pid)]
  await load.measured()
  const tookS = (performance.now() - startedAtMs) / 1_000
  const mainThread = (readMainThreadCpuSeconds(pid) - mainBeforeS) / tookS
  const process = (readCpuSeconds(pid) - allBeforeS) / tookS
  const result = await load.result()
  const expected = result.acknowledged * sockets
  const got = async () => (await readers.call('result')).received
  await waitUntil(async () => (await got()) >= expected, DELIVERY_LIMIT_MS, 100)
  const readersResult = sockets === 0 ? null : await readers.call('result')
  await readers.stop()
  await gateway.process.stop()
  return { load: result, mainThread, process, readers: readersResult, expected }
}

function print({ name, sockets }: FanOut, durationS: number, alone: Outcome, read: Outcome): void {
  const header = ['', 'acked', 'PUBACK p50 ms', 'p99 ms', 'main thread', 'process', 'delivered', 'p50 ms', 'p99 ms']
  const row = (title: string, { load, mainThread, process, readers, expected }: Outcome) => [
    title,
    formatCount(load.measured.acknowledged),
    formatMs(load.measured.sinceDue.p50Ms),
    formatMs(load.measured.sinceDue.p99Ms),
    formatPercent(mainThread),
    formatPercent(process),
    readers === null ? '' : formatPercent(readers.received / expected),
    readers === null ? '' : formatMs(readers.delivery.p50Ms),
    readers === null ? '' : formatMs(readers.delivery.p99Ms),
  ]
  printTable(`Realtime, ${name}, ${durationS} s`, header, [
    row('without sockets', alone),
    row(`${sockets} sockets`, read),
  ])
}

function createFigures({ name }: FanOut, alone: Outcome, read: Outcome, isJudged: boolean): Figure[] {
  const undelivered = read.expected - (read.readers?.received ?? 0)
  const [before, after] = [alone, read].map(({ load }) => load.measured.sinceDue)
  const ratio = (after?.p99Ms ?? 0) / (before?.p99Ms ?? 1)
  const detail = `${formatMs(before?.p99Ms ?? 0)} to ${formatMs(after?.p99Ms ?? 0)} ms`
  return [
    noneOf(`realtime, ${name}: not acknowledged`, read.load.sent - read.load.acknowledged + read.load.skipped),
    noneOf(`realtime, ${name}: not delivered`, undelivered),
    noneOf(`realtime, ${name}: sockets closed`, read.readers?.closed ?? 0),
    atMost(`realtime, ${name}: main thread`, read.mainThread * 100, MAIN_THREAD_TARGET, {
      unit: ' % of a core',
      digits: 1,
      isJudged,
      detail: `without sockets ${formatPercent(alone.mainThread)}`,
    }),
    atMost(`realtime, ${name}: PUBACK p99 with sockets : without`, ratio, PUBACK_TARGET, {
      digits: 2,
      detail,
      isJudged,
    }),
    withoutTarget(
      `realtime, ${name}: PUBACK p50 without / with sockets`,
      `${formatMs(before?.p50Ms ?? 0)} / ${formatMs(after?.p50Ms ?? 0)} ms`,
    ),
  ]
}
