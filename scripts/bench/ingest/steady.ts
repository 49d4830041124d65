import { setTimeout as sleep } from 'node:timers/promises'
import { ForkedScript } from '#scripts/rig/calls.ts'
import { readLoopDelayP99Ms, startGateway } from '#scripts/rig/gateway-process.ts'
import { checkHistory, type HistoryCheck } from '#scripts/rig/load/history-check.ts'
import type { LoadResult } from '#scripts/rig/load/plan.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { readCpuSeconds } from '#scripts/rig/process-usage.ts'
import {
  type Figure,
  formatCount,
  formatMs,
  noneOf,
  printProgress,
  printTable,
  type ScenarioReport,
  withoutTarget,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import type { RealtimeFunctions, RealtimeResult } from './realtime-readers.ts'

const DEVICES = 200
const PER_DEVICE_PER_S = 1
const SOCKETS = 20
const WARMUP_S = 2
/** Time for the last samples to reach the readers after the last acknowledgement. */
const DELIVERY_MS = 1000

interface Outcome {
  load: LoadResult
  realtime: RealtimeResult
  history: HistoryCheck
  loopDelayP99Ms: number
  gatewayCpuShare: number
}

/** Measures a course on a busy day. */
export async function runSteady(context: ScenarioContext): Promise<ScenarioReport> {
  const durationS = context.durationS ?? (context.isShort ? 20 : 300)
  const outcome = await measure(context, durationS)
  print(outcome, durationS)
  return { figures: createFigures(outcome), raw: { durationS, ...outcome } }
}

async function measure({ bench, entry }: ScenarioContext, durationS: number): Promise<Outcome> {
  const dataDir = bench.createFolder('steady')
  const gateway = await startGateway(bench, { entry, dataDir })
  const { api } = gateway
  const clients = await api.registerDevices(DEVICES)
  const script = new URL('./realtime-readers.ts', import.meta.url)
  const readers = new ForkedScript<RealtimeFunctions>(bench, 'realtime readers', script)
  await readers.call('subscribe', gateway.realtimeUrl, SOCKETS)

  const options = { warmupS: WARMUP_S, durationS, keepsJournal: true }
  const load = startDeviceLoad(bench, gateway, clients, PER_DEVICE_PER_S, options)
  await load.measuring()
  await readLoopDelayP99Ms(api)
  const cpuBefore = readCpuSeconds(gateway.process.pid)
  printProgress(`  measuring for ${durationS} s`)
  await load.measured()
  const gatewayCpuShare = (readCpuSeconds(gateway.process.pid) - cpuBefore) / durationS
  const loopDelayP99Ms = await readLoopDelayP99Ms(api)
  const { load: result, journal } = await load.finish()
  await sleep(DELIVERY_MS)
  const realtime = await readers.call('result')
  await readers.stop()
  const history = await checkHistory(api, journal)
  await gateway.process.stop()
  return { load: result, realtime, history, loopDelayP99Ms, gatewayCpuShare }
}

function print(outcome: Outcome, durationS: number): void {
  const { sinceDue, sinceWrite } = outcome.load.measured
  const rows = [
    ['PUBACK, since the write', sinceWrite],
    ['PUBACK, since it was due', sinceDue],
    ['realtime, over all sockets', outcome.realtime.delivery],
  ] as const
  printTable(
    `Steady: ${DEVICES} devices x ${PER_DEVICE_PER_S}/s, ${SOCKETS} sockets, ${durationS} s`,
    ['', 'messages', 'p50 ms', 'p99 ms', 'max ms'],
    rows.map(([name, latency]) => [
      name,
      formatCount(latency.count),
      formatMs(latency.p50Ms),
      formatMs(latency.p99Ms),
      formatMs(latency.maxMs),
    ]),
  )
}

function createFigures(outcome: Outcome): Figure[] {
  const { load, realtime, history } = outcome
  const unacknowledged = load.sent - load.acknowledged + load.skipped
  const undelivered = load.acknowledged * SOCKETS - realtime.received
  const counts = [
    ['not acknowledged', unacknowledged],
    ['acknowledged but not in the history', history.missing],
    ['twice in the history', history.duplicates],
    ['not delivered to a socket', undelivered],
  ] as const
  const { sinceDue } = load.measured
  const { delivery } = realtime
  const untargeted = [
    ['PUBACK p50 / p99 / max', `${[sinceDue.p50Ms, sinceDue.p99Ms, sinceDue.maxMs].map(formatMs).join(' / ')} ms`],
    ['realtime p50 / p99', `${[delivery.p50Ms, delivery.p99Ms].map(formatMs).join(' / ')} ms`],
    ['loop delay p99', `${formatMs(outcome.loopDelayP99Ms)} ms`],
    ['CPU of the gateway', `${(outcome.gatewayCpuShare * 100).toFixed(0)} % of a core`],
  ] as const
  return [
    ...counts.map(([name, count]) => noneOf(`steady: ${name}`, count)),
    ...untargeted.map(([name, reached]) => withoutTarget(`steady: ${name}`, reached)),
  ]
}
