import { writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { LoadClient } from './client.ts'
import { LoadMeter } from './meter.ts'
import { createPace } from './pace.ts'
import { type LoadEvent, type LoadPlan, loadPlanSchema } from './plan.ts'

/** The load generator's process: a plan on stdin, events on stdout, ends when its parent does. */

const CONNECTS_AT_ONCE = 32
const DRAIN_LIMIT_MS = 30_000
const GOODBYE_MS = 200
const MAX_AHEAD_MS = 270_000
const PACED_BUFFER_S = 15
const PACED_BUFFER_MIN = 16

function say(event: LoadEvent): void {
  process.stdout.write(`${JSON.stringify(event)}\n`)
}

function createClients(plan: LoadPlan, meter: LoadMeter): LoadClient[] {
  const { mode, clients, session, journalFile, ...common } = plan
  const window =
    mode.kind === 'saturate'
      ? mode.window
      : Math.max(PACED_BUFFER_MIN, Math.ceil(mode.perClientPerS * PACED_BUFFER_S))
  return clients.map(({ hardwareId, password }) => {
    const keepsJournal = journalFile !== null
    const asDevice = session === 'device'
    const settings = { ...common, hardwareId, password, asDevice, window, keepsJournal }
    return new LoadClient(settings, meter)
  })
}

/** Connects all, a few at a time; afterwards says `connected` whenever all are back after an outage. */
function connectAll(clients: readonly LoadClient[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let started = 0
    const connectNext = () => clients[started++]?.connect()
    for (const client of clients) {
      client.onRefused = reject
      client.onReady = () => {
        connectNext()
        if (!clients.every((each) => each.isReady)) return
        say({ event: 'connected' })
        resolve()
      }
    }
    for (let i = 0; i < CONNECTS_AT_ONCE; i++) connectNext()
  })
}

async function drain(clients: readonly LoadClient[]): Promise<void> {
  const giveUpAtMs = performance.now() + DRAIN_LIMIT_MS
  while (clients.some((client) => client.unacknowledged > 0) && performance.now() < giveUpAtMs) {
    await sleep(10)
  }
}

function writeJournal(path: string, clients: readonly LoadClient[]): void {
  const entries = clients.map((client) => [client.hardwareId, client.journal])
  writeFileSync(path, JSON.stringify(Object.fromEntries(entries)))
}

async function run(plan: LoadPlan, stopped: Promise<void>): Promise<void> {
  const meter = new LoadMeter()
  const clients = createClients(plan, meter)
  lines.on('line', (line) => {
    if (line !== 'journal' || plan.journalFile === null) return
    writeJournal(plan.journalFile, clients)
    say({ event: 'journal' })
  })
  await connectAll(clients)

  const pace = createPace(plan.mode, clients)
  pace.start()
  await sleep(plan.warmupS * 1000)
  meter.startMeasuring()
  say({ event: 'measuring' })
  await (plan.durationS === null ? stopped : Promise.race([stopped, sleep(plan.durationS * 1000)]))
  meter.stopMeasuring()
  say({ event: 'measured' })
  pace.stop()
  await drain(clients)

  for (const client of clients) client.close()
  if (plan.journalFile !== null) writeJournal(plan.journalFile, clients)
  // A gateway takes a sample from further ahead for one of a wrong clock and uses its own time.
  if (meter.newestSampleMs > Date.now() + MAX_AHEAD_MS) {
    throw new Error('samples ran ahead of the clock: fewer rounds or a shorter duration, or more clients')
  }
  say({ event: 'result', result: meter.result() })
  await sleep(GOODBYE_MS)
}

const lines = createInterface({ input: process.stdin })
const { promise: stopped, resolve: stop } = Promise.withResolvers<void>()
lines.on('close', () => process.exit(1))
lines.on('line', (line) => {
  if (line === 'stop') {
    stop()
    return
  }
  if (line === 'journal') return
  run(loadPlanSchema.parse(JSON.parse(line)), stopped).then(
    () => process.exit(0),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
      process.exit(1)
    },
  )
})
