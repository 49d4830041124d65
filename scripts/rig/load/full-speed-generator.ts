import { createHistogram } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { inParallel } from '#shared/in-parallel.ts'
import { answerCalls } from '../calls.ts'
import type { BenchDevice } from '../gateway-api.ts'
import { type LatencySummary, recordMs, summarise } from '../latency.ts'
import { ownCpuSeconds } from '../process-usage.ts'
import { waitUntil } from '../wait-until.ts'
import { FullSpeedClient, type FullSpeedMeter, type FullSpeedSettings } from './full-speed-client.ts'
import type { Journal } from './plan.ts'

/** Process of a load generator that must not become the bottleneck. */

export interface FullSpeedPlan extends FullSpeedSettings {
  clients: readonly BenchDevice[]
}

/** Results of the measured time. */
export interface FullSpeedResult {
  acknowledged: number
  durationS: number
  /** CPU seconds of the generator itself. */
  cpuS: number
  /** PUBACK latency since the write of the half window with the message. */
  sinceWrite: LatencySummary
}

/** Totals from its first message to its last. */
export interface FullSpeedTotals {
  sent: number
  acknowledged: number
  newestSampleMs: number
}

const CONNECTS_AT_ONCE = 32
const DRAIN_LIMIT_MS = 30_000
const MAX_AHEAD_MS = 270_000
/**
 * Pause between two reads of the sockets, so that what arrived meanwhile is one read: a broker that writes each PUBACK
 * separately would wake the generator for each. At full speed a message waits ten times as long.
 */
const REST_MS = 2
const resting = new Int32Array(new SharedArrayBuffer(4))

const latencies = createHistogram()
let isMeasuring = false
const meter: FullSpeedMeter = {
  nowMs: 0,
  record: (waitedMs) => {
    if (isMeasuring) recordMs(latencies, waitedMs)
  },
}
let clients: FullSpeedClient[] = []

const sum = (pick: (client: FullSpeedClient) => number) => clients.reduce((total, client) => total + pick(client), 0)
const acknowledged = () => sum((client) => client.acknowledged)

function restBetweenReads(): void {
  Atomics.wait(resting, 0, 0, REST_MS)
  setImmediate(restBetweenReads)
}

async function start({ clients: devices, ...settings }: FullSpeedPlan): Promise<void> {
  clients = devices.map((device, lane) => new FullSpeedClient(device, lane, settings, meter))
  await inParallel(clients, CONNECTS_AT_ONCE, (client) => client.connect())
  for (const client of clients) client.start()
  restBetweenReads()
}

async function measure(durationS: number): Promise<FullSpeedResult> {
  latencies.reset()
  isMeasuring = true
  const [startedAtMs, acknowledgedBefore, cpuBeforeS] = [performance.now(), acknowledged(), ownCpuSeconds()]
  await sleep(durationS * 1000)
  isMeasuring = false
  return {
    acknowledged: acknowledged() - acknowledgedBefore,
    durationS: (performance.now() - startedAtMs) / 1000,
    cpuS: ownCpuSeconds() - cpuBeforeS,
    sinceWrite: summarise(latencies),
  }
}

async function finish(): Promise<FullSpeedTotals> {
  for (const client of clients) client.finish()
  await waitUntil(() => clients.every((client) => client.isDone), DRAIN_LIMIT_MS)
  for (const client of clients) client.cut()
  const newestSampleMs = Math.max(...clients.map((client) => client.newestSampleMs))
  // A gateway attributes a sample further ahead to a wrong clock and uses its own time.
  if (newestSampleMs > Date.now() + MAX_AHEAD_MS) {
    throw new Error('samples ran ahead of the clock: fewer rounds or a shorter duration, or more clients')
  }
  return { sent: sum((client) => client.sent), acknowledged: acknowledged(), newestSampleMs }
}

const functions = answerCalls({
  /** Resolves when all are connected and sending. */
  start,
  measure,
  /** Resolves when all messages sent are acknowledged, or can no longer be. */
  finish,
  journal: (): Journal => Object.fromEntries(clients.map((client) => [client.hardwareId, client.journal()])),
})

export type FullSpeedFunctions = typeof functions
