import { EventEmitter, on } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerCalls } from '../calls.ts'
import { waitUntil } from '../wait-until.ts'
import { LoadClient } from './client.ts'
import { LoadMeter } from './meter.ts'
import { createSteadyPace } from './pace.ts'
import type { Journal, LoadPlan, LoadResult } from './plan.ts'

/** Process of the load generator. */

const CONNECTS_AT_ONCE = 32
const DRAIN_LIMIT_MS = 30_000
const GOODBYE_MS = 200
const MAX_AHEAD_MS = 270_000
const BUFFER_S = 15
const BUFFER_MIN = 16

const events = new EventEmitter()
/** Buffers events that happen before they are awaited. */
const connections = on(events, 'connected')
const warm = Promise.withResolvers<void>()
const measuring = Promise.withResolvers<void>()
const measured = Promise.withResolvers<void>()
const stopped = Promise.withResolvers<void>()
const finished = Promise.withResolvers<LoadResult>()
let clients: LoadClient[] = []

function createClients(plan: LoadPlan, meter: LoadMeter): LoadClient[] {
  const { perClientPerS, session, ...common } = plan
  const window = Math.max(BUFFER_MIN, Math.ceil(perClientPerS * BUFFER_S))
  return plan.clients.map(({ hardwareId, password }, lane) => {
    const settings = { ...common, hardwareId, password, lane, asDevice: session === 'device', window }
    return new LoadClient(settings, meter)
  })
}

/** Connects all clients, a few at a time; emits `connected` then, and again whenever all are back after an outage. */
function connectAll(): Promise<void> {
  return new Promise((resolve, reject) => {
    let started = 0
    const connectNext = () => clients[started++]?.connect()
    for (const client of clients) {
      client.onRefused = reject
      client.onReady = () => {
        connectNext()
        if (!clients.every((each) => each.isReady)) return
        events.emit('connected')
        resolve()
      }
    }
    for (let i = 0; i < CONNECTS_AT_ONCE; i++) connectNext()
  })
}

async function drain(): Promise<void> {
  await waitUntil(() => clients.every((client) => client.unacknowledged === 0), DRAIN_LIMIT_MS)
}

async function run(plan: LoadPlan): Promise<void> {
  const meter = new LoadMeter()
  clients = createClients(plan, meter)
  await connectAll()

  const pace = createSteadyPace(clients, plan.perClientPerS)
  pace.start()
  await (plan.warmupS === null ? warm.promise : sleep(plan.warmupS * 1000))
  meter.startMeasuring()
  measuring.resolve()
  const end = plan.durationS === null ? [] : [sleep(plan.durationS * 1000)]
  await Promise.race([stopped.promise, ...end])
  for (const client of clients) client.recordWaiting()
  meter.stopMeasuring()
  measured.resolve()
  pace.stop()
  await drain()

  for (const client of clients) client.close()
  // A gateway attributes a sample further ahead to a wrong clock and uses its own time.
  if (meter.newestSampleMs > Date.now() + MAX_AHEAD_MS) {
    throw new Error('samples ran ahead of the clock: fewer rounds or a shorter duration, or more clients')
  }
  await sleep(GOODBYE_MS)
  finished.resolve(meter.result())
}

const functions = answerCalls({
  start: run,
  connected: async () => {
    await connections.next()
  },
  measure: () => warm.resolve(),
  measuring: () => measuring.promise,
  measured: () => measured.promise,
  journal: (): Journal => Object.fromEntries(clients.map(({ hardwareId, journal }) => [hardwareId, journal])),
  stop: () => stopped.resolve(),
  result: () => finished.promise,
})

export type LoadFunctions = typeof functions
