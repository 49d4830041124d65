import { describeError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import type { SyncSourcePort } from '#shared/sync-source.ts'
import { type PushAnswer, SITE_FULL, type SyncPart, type SyncStream } from '#shared/wire/replication/sync.ts'
import type { Cursors } from './cursors.ts'
import type { AgentClock, Link } from './link.ts'
import type { Priorities } from './priorities.ts'
import { retry } from './request-result.ts'
import { type StreamSender, toSyncPart } from './stream-sender.ts'
import type { Density, Upstream } from './upstream.ts'

interface Hold {
  readonly ms: number
  readonly positions: number
}

export interface LaneOptions {
  readonly priority: number
  readonly senders: readonly StreamSender[]
  /** Maximum number of rows in a part. */
  readonly rows: number
  readonly density: Density
  /** Holds new data for `ms`, so that a request carries more, or until `positions` wait. */
  readonly hold: Hold
  /** Streams with their own hold. */
  readonly holds?: Partial<Record<SyncStream, Hold>>
  /** True if the lane keeps the hub's interval between two pushes, and its record rate. */
  readonly keepsInterval: boolean
  /** True if the lane sends a backlog, which yields to devices and, after an outage of the hub, to other sites. */
  readonly isBacklog: boolean
}

export interface LaneDeps {
  readonly source: SyncSourcePort
  readonly upstream: Upstream
  readonly cursors: Cursors
  readonly link: Link
  readonly priorities: Priorities
  readonly clock: AgentClock
  readonly log: Log
  /** True while devices wait for the disk. */
  readonly isBusy: () => boolean
  /** Called when the hub has intents for this site. */
  readonly onIntents: () => void
}

/** Interval at which a lane checks for new data without being woken. */
const CHECK_MS = 500
/** Upper bound of the fields of a part without its data. */
const PART_BYTES = 600
/** Limits the time that serialising a body blocks the event loop. */
const MAX_BODY_BYTES = 1_048_576
const LEAST_PART_BYTES = 256
const BUSY_CHECK_MS = 20
const LONGEST_BUSY_MS = 200
const LONGEST_REST_MS = 2_000

interface Gathered {
  readonly sender: StreamSender
  readonly part: SyncPart
}

/** Sends streams in parts: reads from their cursors, pushes, and moves the cursors when the hub acknowledges. */
export class StreamLane {
  readonly #deps: LaneDeps
  readonly #options: LaneOptions
  readonly #heldSinceMs = new Map<SyncStream, number>()
  #sentAtMs = Number.NEGATIVE_INFINITY
  #busyMs = 0

  constructor(deps: LaneDeps, options: LaneOptions) {
    this.#deps = deps
    this.#options = options
  }

  /** Sends one request with the data that is due. Returns the delay until the next step, in ms. */
  async step(signal: AbortSignal): Promise<number> {
    const waitMs = this.#waitMs()
    if (waitMs > 0) return waitMs
    const { due, nextCheckMs } = this.#due()
    if (due.length === 0) return nextCheckMs
    const { clock, priorities, isBusy } = this.#deps
    const { priority, isBacklog } = this.#options
    return priorities.run(priority, signal, async () => {
      // a lane that went first may have found the hub unreachable
      if (this.#deps.link.holdMs > 0) return this.#deps.link.holdMs
      const startedAtMs = clock.monotonicMs()
      const nextMs = await this.#sendOnce(due, signal)
      const tookMs = clock.monotonicMs() - startedAtMs
      return isBacklog && nextMs === 0 && isBusy() ? Math.min(tookMs, LONGEST_REST_MS) : nextMs
    })
  }

  /** Sends held data in the next step, for an audit that needs it at the hub. */
  hurry(): void {
    for (const { stream } of this.#options.senders) this.#heldSinceMs.set(stream, Number.NEGATIVE_INFINITY)
  }

  /** Milliseconds left of the hub's interval between two pushes, or until its record rate allows the next. */
  get intervalMs(): number {
    const { link, clock } = this.#deps
    if (!this.#options.keepsInterval) return 0
    const leftMs = this.#sentAtMs + link.limits.min_interval_ms - clock.monotonicMs()
    return Math.max(0, leftMs, link.recordsHoldMs)
  }

  #waitMs(): number {
    const { link, isBusy } = this.#deps
    const { isBacklog } = this.#options
    const holdMs = isBacklog ? link.drainHoldMs : link.holdMs
    if (holdMs > 0) return holdMs
    if (this.intervalMs > 0) return this.intervalMs
    if (isBacklog && isBusy() && this.#busyMs < LONGEST_BUSY_MS) {
      this.#busyMs += BUSY_CHECK_MS
      return BUSY_CHECK_MS
    }
    this.#busyMs = 0
    return 0
  }

  #due(): { due: StreamSender[]; nextCheckMs: number } {
    const { source, cursors, clock } = this.#deps
    const { senders, holds } = this.#options
    const ends = source.ends()
    const nowMs = clock.monotonicMs()
    const due: StreamSender[] = []
    let nextCheckMs = CHECK_MS
    for (const sender of senders) {
      const { stream, holdMs } = sender
      const hold = holds?.[stream] ?? this.#options.hold
      const waiting = ends[stream] - cursors.at(stream).seq
      if (waiting <= 0) {
        this.#heldSinceMs.delete(stream)
        continue
      }
      const sinceMs = this.#heldSinceMs.get(stream) ?? nowMs
      this.#heldSinceMs.set(stream, sinceMs)
      const leftMs = waiting >= hold.positions ? holdMs : Math.max(holdMs, sinceMs + hold.ms - nowMs)
      if (leftMs <= 0) due.push(sender)
      else nextCheckMs = Math.min(nextCheckMs, leftMs)
    }
    return { due, nextCheckMs }
  }

  async #sendOnce(due: readonly StreamSender[], signal: AbortSignal): Promise<number> {
    const { source, upstream, cursors, link, clock } = this.#deps
    const asked = cursors.known
    const { epoch } = source.identity()
    const ends = source.ends()
    const gathered = await this.#gather(chooseSenders(due), signal)
    if (gathered.length === 0 || asked.generation !== cursors.known.generation || link.holdMs > 0) return CHECK_MS
    await cursors.sending(
      gathered.map(({ part }) => ({
        stream: part.stream,
        from: { seq: part.from, hash: part.prev_hash },
        to: { seq: part.to, hash: part.hash },
        rows: part.count,
      })),
    )
    this.#sentAtMs = clock.monotonicMs()
    const parts = gathered.map(({ part }) => part)
    const push = { epoch, instance: link.instance, parts }
    link.spendRecords(parts.reduce((sum, { count }) => sum + count, 0))
    const outcome = await upstream.push(push, signal, this.#options.density)
    if (signal.aborted) return 0
    const senders = [...new Set(gathered.map(({ sender }) => sender))]
    if (outcome.kind === 'ok' && isAckOf(parts, outcome.answer.acked)) {
      const isTaken = await cursors.acknowledge(outcome.answer.acked, asked)
      link.succeeded(outcome.answer)
      if (isTaken) this.#settle(senders, ends)
      if (outcome.answer.intents_waiting) this.#deps.onIntents()
      return 0
    }
    if (outcome.kind === 'ok') {
      await link.failed(retry('bad_answer', 'acknowledged rows that were not sent'), asked)
      return 0
    }
    const wasAlone = senders.length === 1
    const before = cursors.known
    await link.failed(outcome, asked)
    for (const sender of senders) {
      if (outcome.kind === 'too_large')
        sender.tooLarge(largestOf(gathered, sender), wasAlone && parts.length === 1, outcome.detail)
      else if (outcome.kind === 'rejected' && outcome.code === SITE_FULL) sender.hubIsFull(wasAlone, outcome.detail)
      else if (outcome.kind === 'rejected') sender.rejected(wasAlone, outcome.detail)
      else if (outcome.kind === 'retry' && outcome.reason === 'timeout') sender.tookTooLong()
      // otherwise the lane would repeat requests forever to a hub that contradicts itself
      else if (outcome.kind === 'cursor' && before.acked[sender.stream] === cursors.known.acked[sender.stream])
        sender.hold()
    }
    return 0
  }

  /** `ends` are from before the request: data that did not fit into it has been held long enough. */
  #settle(senders: readonly StreamSender[], ends: Record<SyncStream, number>): void {
    for (const sender of senders) {
      const { stream } = sender
      sender.succeeded()
      if (this.#deps.cursors.at(stream).seq >= ends[stream]) this.#heldSinceMs.delete(stream)
    }
  }

  #cannotRead(sender: StreamSender, error: unknown): void {
    const reason = describeWithCause(error)
    const wasKnown = sender.trouble !== null
    sender.cannotRead(reason)
    if (!wasKnown) this.#deps.log.warn({ stream: sender.stream, reason }, 'reading the next part of a stream failed')
  }

  async #gather(senders: readonly StreamSender[], signal: AbortSignal): Promise<Gathered[]> {
    const { source, cursors, link } = this.#deps
    const { body_bytes, part_bytes, parts, records = Number.POSITIVE_INFINITY } = link.limits
    const gathered: Gathered[] = []
    let leftRows = records
    let leftBytes = Math.min(body_bytes, MAX_BODY_BYTES)
    for (const sender of senders) {
      const { stream, shrink, isAlone } = sender
      let from = cursors.at(stream)
      // parts that had to shrink are sent singly
      const most = isAlone || shrink > 0 ? 1 : parts - gathered.length
      for (let n = 0; n < most && gathered.length < parts; n++) {
        const bytes = Math.floor(Math.min(part_bytes, ((leftBytes - PART_BYTES) * 3) / 4) / 2 ** shrink)
        if ((bytes < LEAST_PART_BYTES || leftRows < 1) && gathered.length > 0) return gathered
        const limits = {
          bytes: Math.max(1, bytes),
          rows: Math.max(1, Math.min(leftRows, Math.floor(this.#options.rows / 2 ** shrink))),
        }
        const read = await source.nextPart(stream, from.seq, limits, signal).catch((error: unknown) => {
          if (signal.aborted) throw error
          this.#cannotRead(sender, error)
          return 'unreadable' as const
        })
        if (read === 'unreadable') break
        if (read === null) {
          sender.isAtEnd()
          break
        }
        if (read.to <= from.seq) throw new Error(`a part of ${stream} does not advance its cursor`)
        const part = toSyncPart(stream, from, read)
        // the size of a row or block is only known once it is read: this part is sent alone, with the next request
        const isTooMuch = part.data.length + PART_BYTES > leftBytes || part.count > leftRows
        if (gathered.length > 0 && isTooMuch) return gathered
        gathered.push({ sender, part })
        leftBytes -= part.data.length + PART_BYTES
        leftRows -= part.count
        from = { seq: part.to, hash: part.hash }
      }
    }
    return gathered
  }
}

/** Returns the streams that share the next request; a stream that must go alone goes first. */
function chooseSenders(due: readonly StreamSender[]): readonly StreamSender[] {
  const alone = due.find(({ isAlone }) => isAlone)
  return alone === undefined ? due : [alone]
}

function largestOf(gathered: readonly Gathered[], sender: StreamSender): number {
  return Math.max(...gathered.filter((one) => one.sender === sender).map(({ part }) => part.count))
}

/** True if `acked` has exactly the cursors after the last part of each stream that was sent. */
function isAckOf(parts: readonly SyncPart[], acked: PushAnswer['acked']): boolean {
  const last = new Map(parts.map((part) => [part.stream, part]))
  return (
    Object.keys(acked).length === last.size &&
    [...last.values()].every(({ stream, to, hash }) => acked[stream]?.seq === to && acked[stream].hash === hash)
  )
}

/** Returns the message of the store with its cause, which only admins see. */
function describeWithCause(error: unknown): string {
  const words = describeError(error)
  const cause = error instanceof Error && error.cause !== undefined ? describeError(error.cause) : ''
  return cause === '' ? words : `${words} (${cause})`
}
