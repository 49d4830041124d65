import { Deadlines } from '#domain/deadlines.ts'
import { describeError } from '#shared/errors.ts'
import { type Clock, DAY_MS, MINUTE_MS, type MonotonicClock } from '#shared/time.ts'
import { BATCH_WINDOW_MS } from '#store/tables/deliveries.ts'
import type { DeliveryRow, DeliveryText } from '#store/tables/outbox.ts'
import type { GatewayClock } from '../clock/gateway-clock.ts'
import { retryMs, UnknownOutcome } from './retries.ts'
import type { Outgoing, Target, TargetStatus } from './target.ts'

/** Callbacks and dependencies that the outbox gives to the queue of a target. */
export interface QueueOwner {
  clock: Clock & MonotonicClock & Pick<GatewayClock, 'doubt' | 'confirmedMs'>
  /** Between 0 and 1. */
  random: () => number
  /** Returns the texts still to be sent to this target, by seq. Throws while the store cannot be read. */
  texts(seqs: readonly number[]): Map<number, DeliveryText>
  /** Reports deliveries that need no further attempt; they stay queued in the store until this is written. */
  settled(target: Target, seqs: readonly number[], how: 'delivered' | 'dropped'): void
  /** True if an attempt may begin in this tick of the event loop; otherwise `run` is called in a later one. */
  mayBegin(queue: TargetQueue): boolean
  failed(target: Target, reason: string, how: { isFirst: boolean; isNew: boolean }): void
}

interface Delivery extends DeliveryRow {
  /** Time at which the delivery is dropped, by the monotonic clock. */
  lapsesMs: number
}

/** Deliveries that share attempts: a webhook sends the first of them at a time, a notifier all. */
interface Job {
  readonly lane: Lane
  deliveries: Delivery[]
  /** Planned time of the first attempt, by the monotonic clock. */
  timeMs: number
  dueMs: number
  failures: number
  isUnderWay: boolean
}

/** Group of jobs with its own limit of attempts, independent of other lanes. */
interface Lane {
  readonly due: Deadlines<Job>
  readonly most: number
  underWay: number
  /** Earliest next attempt after the target could not be reached, by the monotonic clock. */
  restsUntilMs: number
}

/** Longest interval of the timer, because clocks of tests stand still. */
const CHECK_MS = 1_000
/** Delay from which a message counts as late. */
const LATE_MS = 5 * MINUTE_MS
/** Time for which a delivery is retried. */
const TRIED_MS = DAY_MS
/** Limit of waiting deliveries per target; beyond it the oldest is dropped. */
const WAITING_MAX = 10_000
const ATTEMPTS_AT_ONCE = 4
/** Pause after a host could not be reached: hundreds of alerts would fail likewise. Shorter than the first retry. */
const REST_MS = 500
/** System calls that fail if the host cannot be reached. */
const REACHING_CALLS: readonly unknown[] = ['connect', 'getaddrinfo']
/** Time in which an aborted attempt must settle. */
const SETTLE_MS = 500
const REASON_MAX = 200
/** Control characters: a reason is one line, whatever the receiver sends. */
const CONTROL = /\p{C}+/gu

/**
 * Messages still to be sent to one target. Each target has its own attempts and retries, so a target that hangs delays
 * no other; and so has each alert, so a rejected one delays no other either. Messages about one alert stay in order.
 */
export class TargetQueue {
  readonly status: TargetStatus
  readonly #target: Target
  readonly #owner: QueueOwner
  readonly #jobs = new Set<Job>()
  readonly #byAlert = new Map<string, Job>()
  readonly #alerts = newLane()
  readonly #tests = newLane()
  readonly #attempts = new Set<Promise<void>>()
  readonly #stopping = new AbortController()
  #gathering: Job | undefined
  #waiting = 0
  #timer: NodeJS.Timeout | undefined
  /** Time at which the timer fires, by `performance.now()`. */
  #runsAtMs = Number.POSITIVE_INFINITY
  #isRunning = false

  constructor(target: Target, status: TargetStatus, owner: QueueOwner) {
    this.#target = target
    this.status = status
    this.#owner = owner
  }

  get waiting(): number {
    return this.#waiting
  }

  get channel(): Target['channel'] {
    return this.#target.channel
  }

  start(): void {
    this.#isRunning = true
    this.run()
  }

  /** Aborts attempts in progress, which then have no outcome. */
  async stop(): Promise<void> {
    this.#isRunning = false
    clearTimeout(this.#timer)
    this.#stopping.abort()
    await Promise.all(this.#attempts)
  }

  add(row: DeliveryRow): void {
    const { clock } = this.#owner
    // while the clock is in doubt, or ahead of its last confirmation, no delivery is too old
    const agoMs = Math.min(clock.nowMs(), clock.confirmedMs) - row.queuedAtMs - (this.#target.waitMs ?? 0)
    const leftMs = clock.doubt === null ? Math.min(TRIED_MS, Math.max(0, TRIED_MS - agoMs)) : TRIED_MS
    this.#waiting++
    this.#place({ ...row, lapsesMs: clock.monotonicMs() + leftMs })
    if (this.#waiting > WAITING_MAX) this.#dropOldest()
    this.#schedule()
  }

  /** True if a message about this alert waits in case staff acknowledge the alert. */
  waitsWith(alertId: string): boolean {
    return this.#target.waitMs !== null && this.#byAlert.has(alertId)
  }

  /** Removes deliveries about an alert except those in `kept`. */
  keepOnly(alertId: string, kept: ReadonlySet<number>): void {
    const job = this.#byAlert.get(alertId)
    if (job === undefined || job.isUnderWay) return
    this.#remove(job, (one) => one.alertId === alertId && !kept.has(one.seq))
    this.#schedule()
  }

  #place(delivery: Delivery): void {
    const { alertId } = delivery
    const job = this.#jobFor(delivery) ?? this.#jobOf(delivery)
    job.deliveries.push(delivery)
    if (alertId !== null) this.#byAlert.set(alertId, job)
  }

  #jobOf(delivery: Delivery): Job {
    const timeMs = this.#timeOf(delivery)
    const lane = delivery.alertId === null ? this.#tests : this.#alerts
    const job: Job = { lane, deliveries: [], timeMs, dueMs: timeMs, failures: 0, isUnderWay: false }
    this.#jobs.add(job)
    if (lane === this.#alerts) this.#gathering = job
    this.#setDue(job, timeMs)
    return job
  }

  /** Returns the job that a delivery joins. */
  #jobFor({ alertId, queuedAtMs }: Delivery): Job | undefined {
    if (alertId === null) return undefined
    if (this.#target.waitMs === null) return this.#byAlert.get(alertId)
    const first = this.#gathering?.deliveries[0]
    const isWithin =
      first !== undefined && Math.abs(queuedAtMs - first.queuedAtMs) < BATCH_WINDOW_MS && !this.#gathering?.isUnderWay
    return isWithin ? this.#gathering : undefined
  }

  /** Returns the time to send, by the monotonic clock: a clock that was set back makes no recipient wait longer. */
  #timeOf({ alertId, queuedAtMs }: Delivery): number {
    const { clock } = this.#owner
    const waitMs = alertId === null ? 0 : (this.#target.waitMs ?? 0)
    const leftMs = queuedAtMs + waitMs - clock.nowMs()
    return clock.monotonicMs() + Math.min(waitMs, Math.max(-TRIED_MS, leftMs))
  }

  /** Begins due attempts, up to the limits. */
  run(): void {
    if (!this.#isRunning) return
    for (const lane of [this.#tests, this.#alerts])
      while (this.#isDue(lane)) {
        if (!this.#owner.mayBegin(this)) return
        const [job] = lane.due.takeDue(this.#owner.clock.monotonicMs(), 1)
        if (job !== undefined) this.#begin(job)
      }
    this.#schedule()
  }

  #isDue(lane: Lane): boolean {
    return lane.underWay < lane.most && nextMsOf(lane) <= this.#owner.clock.monotonicMs()
  }

  #schedule(): void {
    const next = [this.#tests, this.#alerts].filter(({ underWay, most }) => underWay < most).map(nextMsOf)
    const nextMs = Math.min(...next)
    if (!this.#isRunning || !Number.isFinite(nextMs)) return
    const waitMs = Math.min(CHECK_MS, Math.max(0, nextMs - this.#owner.clock.monotonicMs()))
    const runsAtMs = performance.now() + waitMs
    // avoids resetting the timer for each of hundreds of alerts that open together
    if (this.#runsAtMs <= runsAtMs) return
    clearTimeout(this.#timer)
    this.#runsAtMs = runsAtMs
    this.#timer = setTimeout(() => {
      this.#runsAtMs = Number.POSITIVE_INFINITY
      this.run()
    }, waitMs)
  }

  #begin(job: Job): void {
    const nowMs = this.#owner.clock.monotonicMs()
    const lapsed = job.deliveries.filter(({ lapsesMs }) => lapsesMs <= nowMs)
    if (lapsed.length > 0) {
      this.#owner.settled(this.#target, seqsOf(lapsed), 'dropped')
      this.#remove(job, (one) => lapsed.includes(one))
      return
    }
    const chosen = this.#target.waitMs === null ? job.deliveries.slice(0, 1) : [...job.deliveries]
    const texts = this.#textsOf(chosen)
    if (texts === null) {
      // the store has already logged the fault
      this.#setDue(job, nowMs + CHECK_MS)
      return
    }
    const isGone = ({ seq }: Delivery) => chosen.some((one) => one.seq === seq) && !texts.has(seq)
    const [first, ...others] = chosen.flatMap(({ seq, alertId }): Outgoing[] => {
      const text = texts.get(seq)
      return text === undefined ? [] : [{ alertId, ...text }]
    })
    if (first === undefined || chosen.some(isGone)) {
      this.#remove(job, isGone)
      return
    }
    this.#attempt(job, chosen, [first, ...others], nowMs)
  }

  #attempt(job: Job, chosen: Delivery[], outgoing: [Outgoing, ...Outgoing[]], nowMs: number): void {
    const target = this.#target
    job.isUnderWay = true
    job.lane.underWay++
    const timeout = AbortSignal.timeout(target.attemptMs)
    const signal = AbortSignal.any([this.#stopping.signal, timeout])
    const sending = target.send(outgoing, { isLate: nowMs > job.timeMs + LATE_MS, signal })
    const attempt = Promise.race([sending, endOf(signal)])
      .then(
        () => this.#delivered(job, chosen),
        (failure: unknown) => {
          if (this.#stopping.signal.aborted) return
          if (isUnreachable(failure)) job.lane.restsUntilMs = this.#owner.clock.monotonicMs() + REST_MS
          this.#failed(job, timeout.aborted ? lateOf(failure, target.attemptMs) : failure)
        },
      )
      .finally(() => {
        job.lane.underWay--
        this.#attempts.delete(attempt)
        this.run()
      })
    this.#attempts.add(attempt)
  }

  #delivered(job: Job, sent: readonly Delivery[]): void {
    const { clock } = this.#owner
    job.isUnderWay = false
    job.failures = 0
    job.lane.restsUntilMs = Number.NEGATIVE_INFINITY
    this.status.lastSuccessAtMs = clock.nowMs()
    this.status.lastError = null
    this.#owner.settled(this.#target, seqsOf(sent), 'delivered')
    this.#remove(job, (one) => sent.includes(one))
  }

  #failed(job: Job, error: unknown): void {
    const { clock, random } = this.#owner
    const reason = wordsOf(error)
    job.isUnderWay = false
    job.failures++
    const { lastError } = this.status
    this.status.lastError = reason
    const how = { isFirst: lastError === null, isNew: lastError !== reason }
    this.#owner.failed(this.#target, reason, how)
    this.#setDue(job, clock.monotonicMs() + retryMs(job.failures, random(), error instanceof UnknownOutcome))
  }

  /** Removes deliveries from a job that has no attempt in progress. */
  #remove(job: Job, isGone: (delivery: Delivery) => boolean): void {
    const [first] = job.deliveries
    const left: Delivery[] = []
    for (const one of job.deliveries)
      if (!isGone(one)) left.push(one)
      else if (one.alertId !== null && this.#byAlert.get(one.alertId) === job) this.#byAlert.delete(one.alertId)
    this.#waiting -= job.deliveries.length - left.length
    job.deliveries = left
    const [next] = left
    if (next === undefined) this.#delete(job)
    else if (this.#target.waitMs === null) this.#follow(job, next)
    // a retried job, or one that keeps its first delivery, needs a due time again: #begin took it out of its lane
    else if (job.failures > 0 || next === first) this.#setDue(job, job.dueMs)
    else this.#regroup(job)
  }

  /** Continues with the next delivery about an alert. */
  #follow(job: Job, { alertId }: Delivery): void {
    if (alertId !== null) this.#byAlert.set(alertId, job)
    this.#setDue(job, job.failures > 0 ? job.dueMs : this.#owner.clock.monotonicMs())
  }

  /** Regroups deliveries: without the first of a message, which determines its time, the grouping may differ. */
  #regroup(begun: Job): void {
    const jobs = [...this.#jobs].filter(
      (job) => job === begun || (job.lane === this.#alerts && !job.isUnderWay && job.failures === 0),
    )
    for (const job of jobs) this.#delete(job)
    const deliveries = jobs.flatMap((job) => job.deliveries)
    for (const delivery of deliveries.sort((a, b) => a.seq - b.seq)) this.#place(delivery)
  }

  #delete(job: Job): void {
    this.#jobs.delete(job)
    job.lane.due.delete(job)
    if (this.#gathering === job) this.#gathering = undefined
    for (const { alertId } of job.deliveries)
      if (alertId !== null && this.#byAlert.get(alertId) === job) this.#byAlert.delete(alertId)
  }

  #setDue(job: Job, dueMs: number): void {
    job.dueMs = dueMs
    job.lane.due.set(job, dueMs)
  }

  #dropOldest(): void {
    for (const job of this.#jobs) {
      const [oldest] = job.deliveries
      if (job.isUnderWay || oldest === undefined) continue
      this.#owner.settled(this.#target, [oldest.seq], 'dropped')
      this.#remove(job, (one) => one === oldest)
      return
    }
  }

  #textsOf(deliveries: readonly Delivery[]): Map<number, DeliveryText> | null {
    try {
      return this.#owner.texts(seqsOf(deliveries))
    } catch {
      return null
    }
  }
}

function newLane(): Lane {
  const restsUntilMs = Number.NEGATIVE_INFINITY
  return { due: new Deadlines(), most: ATTEMPTS_AT_ONCE, underWay: 0, restsUntilMs }
}

function nextMsOf({ due, restsUntilMs }: Lane): number {
  return Math.max(due.nextMs ?? Number.POSITIVE_INFINITY, restsUntilMs)
}

function isUnreachable(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isUnreachable)
  return error instanceof Error && 'syscall' in error && REACHING_CALLS.includes(error.syscall)
}

function lateOf(failure: unknown, attemptMs: number): Error {
  const reason = `no answer within ${attemptMs / 1000} s`
  return failure instanceof UnknownOutcome ? new UnknownOutcome(reason) : new Error(reason)
}

/** Rejects soon after an abort, so that an attempt settles whatever the receiver and the libraries do. */
function endOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    // the sending promise settles first if it can, with a better reason
    const end = () => setTimeout(() => reject(new UnknownOutcome('the attempt did not end in time')), SETTLE_MS)
    signal.addEventListener('abort', end, { once: true })
  })
}

function seqsOf(deliveries: readonly Delivery[]): number[] {
  return deliveries.map(({ seq }) => seq)
}

/** Describes an error in one line; the `AggregateError` for several addresses of a host has an empty message. */
function wordsOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'no connection'
  return (describeError(error) || code).replaceAll(CONTROL, ' ').slice(0, REASON_MAX)
}
