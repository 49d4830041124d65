import { setTimeout as sleep } from 'node:timers/promises'
import { type ApiClient, ApiError } from '#shared/client.ts'
import type { TelemetryStream } from '#shared/ids.ts'
import type { DeletionScope, ExpectedHistory } from './expected-history.ts'
import { RECORD_AT, streamsAt } from './records.ts'
import { BACKLOG_DAYS, type HistorySenders } from './senders.ts'

const DAY_MS = 86_400_000
/** Retry interval without a gateway. */
const DOWN_MS = 50
const IMPORT_PAUSE_MS = 100
const IMPORT_RECORDS = 1000
const DELETION_PAUSE_MS = 800
const OLDEST_PURGE_DAYS = BACKLOG_DAYS - 1
const YOUNGEST_PURGE_DAYS = 10

const EVER = { streams: ['gps', 'battery'], beforeMs: Number.POSITIVE_INFINITY } as const

const ERASURES = [
  { operation: 'DELETE /devices/{id}/telemetry', streams: ['gps', 'battery'] },
  { operation: 'DELETE /devices/{id}/telemetry/gps', streams: ['gps'] },
  { operation: 'DELETE /devices/{id}/telemetry/battery', streams: ['battery'] },
] as const

/** Outcome; `away`: no gateway ran; `brokenOff`: it died before it responded; `failed`: it could not, or no longer. */
type Fate = 'confirmed' | 'brokenOff' | 'failed' | 'refused' | 'away'

/** Number of requests of one kind, by outcome. */
type Outcomes = Record<Fate, number>

const NONE: Outcomes = { confirmed: 0, brokenOff: 0, failed: 0, refused: 0, away: 0 }

/** Client that continuously adds old records over HTTP, and deletes some. */
export class HistoryRequests {
  readonly imports = { ...NONE }
  readonly deletions = { ...NONE }
  /** Imports of which not every record was stored or a repetition. */
  incomplete = 0
  readonly #client: ApiClient
  readonly #hardwareIds: readonly string[]
  readonly #expected: ExpectedHistory
  readonly #senders: HistorySenders
  readonly #waiting = new Set<() => void>()
  readonly #waitingForEnd = new Set<() => void>()
  #isWanted = false
  #running: Promise<void>[] = []

  constructor(client: ApiClient, hardwareIds: readonly string[], expected: ExpectedHistory, senders: HistorySenders) {
    this.#client = client
    this.#hardwareIds = hardwareIds
    this.#expected = expected
    this.#senders = senders
  }

  start(): void {
    this.#isWanted = true
    this.#running = [
      this.#repeat(IMPORT_PAUSE_MS, () => this.import()),
      this.#repeat(DELETION_PAUSE_MS, () => this.#delete()),
    ]
  }

  /** Resolves when the last one is over. */
  async pause(): Promise<void> {
    this.#isWanted = false
    await Promise.all(this.#running)
  }

  /** Resolves when the next request to a running gateway begins. */
  nextBegins(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve))
  }

  /** Resolves when the next deletion is confirmed. */
  nextDeletionEnds(): Promise<void> {
    return new Promise((resolve) => this.#waitingForEnd.add(resolve))
  }

  async #repeat(pauseMs: number, work: () => Promise<boolean>): Promise<void> {
    while (this.#isWanted) {
      const wasReceived = await work()
      await sleep(wasReceived ? Math.random() * pauseMs : DOWN_MS)
    }
  }

  /** Adds records of times past to a device; returns true if a gateway ran. */
  async import(): Promise<boolean> {
    return this.importTimes(
      this.#chooseDevice(),
      this.#senders.pastTimes(1 + Math.floor(Math.random() * IMPORT_RECORDS)),
    )
  }

  /** Adds records of these times to a device; returns true if a gateway ran. */
  async importTimes(device: number, times: readonly number[]): Promise<boolean> {
    const of = (stream: TelemetryStream) => times.filter((atMs) => streamsAt(atMs).includes(stream))
    const body = {
      gps: of('gps').map((atMs) => RECORD_AT.gps(device, atMs)),
      battery: of('battery').map((atMs) => RECORD_AT.battery(device, atMs)),
    }
    const send = this.#expected.send(device, times)
    const { fate, answer } = await this.#ask(this.imports, () =>
      this.#client.call('POST /devices/{id}/telemetry/import', { path: this.#pathOf(device), body }),
    )
    if (didNothing(fate)) this.#expected.withdraw(send)
    if (answer !== undefined) {
      this.#expected.acknowledge(send)
      const { stored, duplicates } = answer
      const taken = stored.gps + stored.battery + duplicates.gps + duplicates.battery
      if (taken !== body.gps.length + body.battery.length) this.incomplete++
    }
    return fate !== 'away'
  }

  async #delete(): Promise<boolean> {
    return Math.random() < 0.5 ? this.purge() : this.erase()
  }

  /** Deletes the oldest records of all devices; returns true if a gateway ran. */
  async purge(): Promise<boolean> {
    const spread = OLDEST_PURGE_DAYS - YOUNGEST_PURGE_DAYS + 1
    const days = YOUNGEST_PURGE_DAYS + Math.floor(Math.random() * spread)
    // the gateway's present is at most an hour from now
    const latestMs = Date.now() + DAY_MS / 24 - days * DAY_MS
    const scope = { device: null, streams: ['gps', 'battery'], beforeMs: latestMs } as const
    return this.#carryOut(scope, async () => {
      const purged = await this.#client.call('POST /telemetry/purge', { body: { older_than_days: days } })
      return Date.parse(purged.cutoff_date)
    })
  }

  /** Deletes records of a device; returns true if a gateway ran. */
  async erase(): Promise<boolean> {
    const device = this.#chooseDevice()
    const { operation, streams } = ERASURES[Math.floor(Math.random() * ERASURES.length)] ?? ERASURES[0]
    const scope = { ...EVER, device, streams }
    return this.#carryOut(scope, () => this.#client.call(operation, { path: this.#pathOf(device) }))
  }

  /** Deletes a device with all its data; returns true if a gateway ran. */
  deleteDevice(device: number): Promise<boolean> {
    const path = this.#pathOf(device)
    return this.#carryOut({ ...EVER, device }, () => this.#client.call('DELETE /devices/{id}', { path }))
  }

  /** Executes a deletion; `request` may return the time (ms) before which records are gone, instead of the scope's. */
  async #carryOut(scope: DeletionScope, request: () => Promise<unknown>): Promise<boolean> {
    const deletion = this.#expected.startDeletion(scope)
    const { fate, answer } = await this.#ask(this.deletions, request)
    if (fate === 'confirmed') {
      this.#expected.confirmDeletion(deletion, typeof answer === 'number' ? answer : scope.beforeMs)
      for (const resolve of this.#waitingForEnd) resolve()
      this.#waitingForEnd.clear()
    } else if (didNothing(fate)) this.#expected.withdrawDeletion(deletion)
    else this.#expected.breakOffDeletion(deletion)
    return fate !== 'away'
  }

  async #ask<Answer>(outcomes: Outcomes, request: () => Promise<Answer>): Promise<{ fate: Fate; answer?: Answer }> {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
    const { fate, ...answered } = await request().then(
      (answer) => ({ fate: 'confirmed' as const, answer }),
      (error: unknown) => ({ fate: fateOf(error) }),
    )
    outcomes[fate]++
    return { fate, ...answered }
  }

  #chooseDevice(): number {
    return Math.floor(Math.random() * this.#hardwareIds.length)
  }

  #pathOf(device: number): { id: string } {
    return { id: this.#hardwareIds[device] ?? '' }
  }
}

function fateOf(error: unknown): Fate {
  if (error instanceof ApiError) return error.status >= 500 ? 'failed' : 'refused'
  const cause = error instanceof Error ? error.cause : undefined
  // nothing was sent: no connection could be made
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED' ? 'away' : 'brokenOff'
}

function didNothing(fate: Fate): boolean {
  return fate === 'away' || fate === 'refused'
}
