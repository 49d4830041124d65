import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { ADMIN_KEY } from '#scripts/rig/gateway-process.ts'
import type { TelemetryStream } from '#shared/ids.ts'
import type { DeletionScope, ExpectedHistory } from './expected-history.ts'
import { recordAt, streamsAt } from './records.ts'
import { BACKLOG_DAYS } from './senders.ts'

const DAY_MS = 86_400_000
/** No gateway: asked again after so long. */
const DOWN_MS = 50
const IMPORT_PAUSE_MS = 100
const IMPORT_RECORDS = 1000
const DELETION_PAUSE_MS = 800
const OLDEST_PURGE_DAYS = BACKLOG_DAYS - 1
const YOUNGEST_PURGE_DAYS = 10

const purgedSchema = z.object({ cutoff_date: z.string() })
const countsSchema = z.object({ gps: z.number(), battery: z.number() })
const importedSchema = z.object({ stored: countsSchema, duplicates: countsSchema })

/** What came of a kind of request. */
interface Outcomes {
  confirmed: number
  /** The gateway died over it. */
  brokenOff: number
  /** It could not, or not any more. */
  failed: number
  refused: number
}

/** An answer of the gateway; null when it died before it gave one, undefined when there was none to ask. */
type Answer = { status: number; body: unknown } | null | undefined

/** A client that adds old records over HTTP, and deletes some, all the time. */
export class HistoryRequests {
  readonly imports: Outcomes = { confirmed: 0, brokenOff: 0, failed: 0, refused: 0 }
  readonly deletions: Outcomes = { confirmed: 0, brokenOff: 0, failed: 0, refused: 0 }
  /** Imports of which not every record was stored or a repetition. */
  incomplete = 0
  readonly #url: string
  readonly #hardwareIds: readonly string[]
  readonly #expected: ExpectedHistory
  readonly #pastTimes: (count: number) => number[]
  readonly #waiting = new Set<() => void>()
  readonly #waitingForEnd = new Set<() => void>()
  #isWanted = false
  #running: Promise<void>[] = []

  constructor(
    url: string,
    hardwareIds: readonly string[],
    expected: ExpectedHistory,
    pastTimes: (count: number) => number[],
  ) {
    this.#url = url
    this.#hardwareIds = hardwareIds
    this.#expected = expected
    this.#pastTimes = pastTimes
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

  /** Resolves when the next one begins that is sent to a gateway. */
  nextBegins(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve))
  }

  /** Resolves when the next deletion is confirmed. */
  nextDeletionEnds(): Promise<void> {
    return new Promise((resolve) => this.#waitingForEnd.add(resolve))
  }

  async #repeat(pauseMs: number, work: () => Promise<boolean>): Promise<void> {
    while (this.#isWanted) {
      const wasHeard = await work()
      await sleep(wasHeard ? Math.random() * pauseMs : DOWN_MS)
    }
  }

  /** Adds records of times past to a device; returns whether there was a gateway. */
  async import(): Promise<boolean> {
    const device = this.#chooseDevice()
    const times = this.#pastTimes(1 + Math.floor(Math.random() * IMPORT_RECORDS))
    const of = (stream: TelemetryStream) =>
      times.filter((atMs) => streamsAt(atMs).includes(stream)).map((atMs) => recordAt(device, stream, atMs))
    const body = { gps: of('gps'), battery: of('battery') }
    const send = this.#expected.send(device, times)
    const answer = await this.#ask('POST', `${this.#deviceUrl(device)}/telemetry/import`, body)
    if (answer?.status !== 200) {
      note(this.imports, answer)
      if (didNothing(answer)) this.#expected.withdraw(send)
      return answer !== undefined
    }
    this.imports.confirmed++
    this.#expected.acknowledge(send)
    const { stored, duplicates } = importedSchema.parse(answer.body)
    const taken = stored.gps + stored.battery + duplicates.gps + duplicates.battery
    if (taken !== body.gps.length + body.battery.length) this.incomplete++
    return true
  }

  async #delete(): Promise<boolean> {
    return Math.random() < 0.5 ? this.purge() : this.erase()
  }

  /** Deletes the oldest records of all devices; returns whether there was a gateway. */
  async purge(): Promise<boolean> {
    const spread = OLDEST_PURGE_DAYS - YOUNGEST_PURGE_DAYS + 1
    const days = YOUNGEST_PURGE_DAYS + Math.floor(Math.random() * spread)
    // what the gateway takes for now is not later than an hour from now
    const latestMs = Date.now() + DAY_MS / 24 - days * DAY_MS
    const scope = { device: null, streams: ['gps', 'battery'], beforeMs: latestMs } as const
    return this.#carryOut(scope, 'POST', `${this.#url}/telemetry/purge`, { older_than_days: days })
  }

  /** Deletes records of a device; returns whether there was a gateway. */
  async erase(): Promise<boolean> {
    const device = this.#chooseDevice()
    const [stream] = (['gps', 'battery', undefined] as const).toSorted(() => Math.random() - 0.5)
    const streams = stream === undefined ? (['gps', 'battery'] as const) : [stream]
    const scope = { device, streams, beforeMs: Number.POSITIVE_INFINITY }
    const path = stream === undefined ? '' : `/${stream}`
    return this.#carryOut(scope, 'DELETE', `${this.#deviceUrl(device)}/telemetry${path}`)
  }

  /** Deletes a device with all it has; returns whether there was a gateway. */
  deleteDevice(device: number): Promise<boolean> {
    const scope = { device, streams: ['gps', 'battery'], beforeMs: Number.POSITIVE_INFINITY } as const
    return this.#carryOut(scope, 'DELETE', this.#deviceUrl(device))
  }

  async #carryOut(scope: DeletionScope, method: string, url: string, body?: unknown): Promise<boolean> {
    const deletion = this.#expected.startDeletion(scope)
    const answer = await this.#ask(method, url, body)
    if (answer?.status === 200) {
      this.deletions.confirmed++
      const { data } = purgedSchema.safeParse(answer.body)
      const cutoffMs = data === undefined ? scope.beforeMs : Date.parse(data.cutoff_date)
      this.#expected.confirmDeletion(deletion, cutoffMs)
      for (const resolve of this.#waitingForEnd) resolve()
      this.#waitingForEnd.clear()
      return true
    }
    note(this.deletions, answer)
    if (didNothing(answer)) this.#expected.withdrawDeletion(deletion)
    else this.#expected.breakOffDeletion(deletion)
    return answer !== undefined
  }

  async #ask(method: string, url: string, body?: unknown): Promise<Answer> {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
    try {
      const response = await fetch(url, {
        method,
        headers: { 'X-API-Key': ADMIN_KEY, 'Content-Type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return { status: response.status, body: await response.json() }
    } catch (error) {
      return isGatewayAway(error) ? undefined : null
    }
  }

  #chooseDevice(): number {
    return Math.floor(Math.random() * this.#hardwareIds.length)
  }

  #deviceUrl(device: number): string {
    return `${this.#url}/devices/${this.#hardwareIds[device]}`
  }
}

function note(outcomes: Outcomes, answer: Answer): void {
  if (answer === undefined) return
  if (answer === null) outcomes.brokenOff++
  else if (answer.status >= 500) outcomes.failed++
  else outcomes.refused++
}

function didNothing(answer: Answer): boolean {
  return answer === undefined || (answer !== null && answer.status < 500)
}

/** Nothing was sent: no connection could be made. */
function isGatewayAway(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED'
}
