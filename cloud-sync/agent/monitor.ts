import { isOff } from '#shared/clock-offset.ts'
import type { Log } from '#shared/log.ts'
import type { StreamBacklog, SyncSourcePort } from '#shared/sync-source.ts'
import { MINUTE_MS } from '#shared/time.ts'
import { SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import type { SyncStream } from '#shared/wire/replication/sync.ts'
import type { Cursors } from './cursors.ts'
import type { HubClock } from './hub-clock.ts'
import type { AgentClock, Link } from './link.ts'
import type { Progress } from './progress.ts'
import { hasBacklog } from './state.ts'
import type { StreamSender } from './stream-sender.ts'

interface MonitorDeps {
  readonly source: SyncSourcePort
  readonly cursors: Cursors
  readonly link: Link
  readonly progress: Progress
  readonly senders: readonly StreamSender[]
  readonly clock: AgentClock
  readonly hubClock: HubClock
  readonly log: Log
}

const CHECK_MS = 10_000
const STUCK_MS = 5 * MINUTE_MS
const CONTACT_MS = MINUTE_MS
/** The newest samples are held for some seconds to share a request; they do not count as a backlog. */
const LIVE_MS = 30_000
const NOTHING: StreamBacklog = { rows: 0, oldestMs: null }

/** Counts the backlog at intervals, and detects streams that do not advance although the hub responds. */
export class Monitor {
  readonly #deps: MonitorDeps
  #counted: Record<SyncStream, StreamBacklog> = byStream(() => NOTHING)
  /** Rows that had been acknowledged when the backlog was counted. */
  #ackedRows: Record<SyncStream, number> = byStream(() => 0)
  /** Ends of the streams at that count; undefined before the first. */
  #countedEnds: Record<SyncStream, number> | undefined
  /** End of telemetry at several times; the first is some seconds old. */
  #telemetryEnds: { atMs: number; seq: number }[] = []
  #stuck: readonly SyncStream[] = []
  #isClockOff = false

  constructor(deps: MonitorDeps) {
    this.#deps = deps
  }

  /** Backlog: the last count minus the rows acknowledged since. */
  get backlog(): Readonly<Record<SyncStream, StreamBacklog>> {
    const { source, cursors, progress } = this.#deps
    const ends = source.ends()
    return byStream((stream) => {
      const counted = this.#counted[stream]
      if (counted.rows === 0 || cursors.at(stream).seq >= ends[stream]) return NOTHING
      const gone = progress.rowsOf(stream) - this.#ackedRows[stream]
      return { rows: Math.max(1, counted.rows - gone), oldestMs: counted.oldestMs }
    })
  }

  /** Waiting rows of a stream, as last counted; null if there are waiting rows that are not counted yet. */
  waitingRows(stream: SyncStream): number | null {
    const { source, cursors } = this.#deps
    if (cursors.at(stream).seq >= source.ends()[stream]) return 0
    return this.#countedEnds === undefined ? null : this.backlog[stream].rows || null
  }

  /** Counts again if rows arrived since the last count. Throws if they cannot be counted in time. */
  async recount(signal: AbortSignal): Promise<void> {
    const ends = this.#deps.source.ends()
    if (SYNC_STREAMS.some((stream) => this.#countedEnds?.[stream] !== ends[stream])) await this.#count(signal, true)
  }

  /** True if the backlog was counted since the start. */
  get isCounted(): boolean {
    return this.#countedEnds !== undefined
  }

  get stuck(): readonly SyncStream[] {
    return this.#stuck
  }

  /** Backlog of all streams: number of rows, and time of the oldest. */
  get total(): StreamBacklog {
    const all = Object.values(this.backlog)
    const times = all.flatMap(({ oldestMs }) => (oldestMs === null ? [] : [oldestMs]))
    return {
      rows: all.reduce((sum, { rows }) => sum + rows, 0),
      oldestMs: times.length === 0 ? null : times.reduce((a, b) => Math.min(a, b)),
    }
  }

  /**
   * True if the hub has all telemetry that had arrived some seconds ago. Compares positions, because the times of
   * devices may be wrong, or old after a signal loss.
   */
  get isLive(): boolean {
    const [reference] = this.#telemetryEnds
    return reference !== undefined && this.#deps.cursors.at('telemetry').seq >= reference.seq
  }

  /** True if the hub has all data except the newest. */
  get isDrained(): boolean {
    return this.isCounted && !hasBacklog(this)
  }

  async step(signal: AbortSignal): Promise<number> {
    this.#noteEnd()
    this.#watchClock()
    await this.#count(signal, false)
    this.#watch()
    return CHECK_MS
  }

  async #count(signal: AbortSignal, isFresh: boolean): Promise<void> {
    const { source, progress } = this.#deps
    const ackedRows = byStream((stream) => progress.rowsOf(stream))
    const ends = source.ends()
    this.#counted = await source.backlog(signal, isFresh)
    this.#ackedRows = ackedRows
    this.#countedEnds = ends
  }

  #noteEnd(): void {
    const { source, clock } = this.#deps
    const nowMs = clock.monotonicMs()
    this.#telemetryEnds.push({ atMs: nowMs, seq: source.ends().telemetry })
    const recent = this.#telemetryEnds.findIndex(({ atMs }) => nowMs - atMs < LIVE_MS)
    // keeps the newest of those that are old enough, or the first one at the start
    this.#telemetryEnds.splice(0, Math.max(0, recent - 1))
  }

  #watchClock(): void {
    const { hubClock, log } = this.#deps
    const { offsetMs } = hubClock
    const isClockOff = isOff(offsetMs)
    if (isClockOff === this.#isClockOff) return
    this.#isClockOff = isClockOff
    if (isClockOff) log.warn({ offsetMs }, 'the clocks of this gateway and the hub differ')
    else log.info({ offsetMs }, 'the clocks of this gateway and the hub agree again')
  }

  #watch(): void {
    const { link, progress, senders, log } = this.#deps
    const isUp = link.state === 'up' && link.hasContactWithin(CONTACT_MS) && link.drainHoldMs <= 0
    const { backlog } = this
    const stuck: SyncStream[] = []
    for (const { stream, trouble } of senders) {
      // without a link, or if the hub reports a problem, the cause is known
      if (!isUp || trouble !== null || backlog[stream].rows === 0) progress.moved(stream)
      else if (progress.stillMs(stream) >= STUCK_MS) stuck.push(stream)
    }
    const isNew = stuck.some((stream) => !this.#stuck.includes(stream))
    this.#stuck = stuck
    if (!isNew) return
    log.error({ streams: stuck, backlog }, 'streams do not advance although the hub responds; sending hello again')
    link.renew(`no cursor of ${stuck.join(', ')} advanced for five minutes`)
  }
}

function byStream<Value>(make: (stream: SyncStream) => Value): Record<SyncStream, Value> {
  const record = Object.fromEntries(SYNC_STREAMS.map((stream) => [stream, make(stream)]))
  // contains one value for each stream
  return record as Record<SyncStream, Value>
}
