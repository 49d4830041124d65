import type { Events } from '#gateway/events.ts'
import { Counter } from '#shared/counter.ts'
import { describeError, UnavailableError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import type { Store } from '#store/store.ts'
import type { TargetOutcome } from '#store/tables/outbox.ts'
import { CHANNELS, type Channel, type Target, type TargetStatus } from './target.ts'
import { type QueueOwner, TargetQueue } from './target-queue.ts'

interface OutboxDeps {
  store: Pick<Store, 'read' | 'write'>
  events: Events
  clock: QueueOwner['clock']
  log: Log
  /** Between 0 and 1. */
  random: () => number
}

/** Rows read in one tick of the event loop; each may be for twenty targets. */
const PAGE_ROWS = 25
/** Time for which outcomes are collected before they are stored: each write is a transaction. */
const SETTLE_MS = 100
const RETRY_MS = 1_000
const NEVER: TargetStatus = { lastSuccessAtMs: null, lastError: null }

/**
 * Sends webhooks and notifiers the deliveries that the store has queued for them (`store/tables/deliveries.ts`), in
 * three steps: it reads the queued rows, at the start and after each alert; the queue of each target sends them
 * (`target-queue.ts`); and rows that were delivered or dropped are deleted. After a power cut between the last two
 * steps a message is sent again, with the same delivery id.
 */
export class Outbox implements Component {
  /** Messages delivered, attempts failed, and messages dropped; by channel. */
  readonly delivered = new Counter(CHANNELS)
  readonly failed = new Counter(CHANNELS)
  readonly dropped = new Counter(CHANNELS)
  readonly #deps: OutboxDeps
  readonly #queues = new Map<string, TargetQueue>()
  readonly #settled: { seq: number; targetId: string }[] = []
  readonly #outcomes = new Map<string, TargetOutcome>()
  /** Queues that wait to begin an attempt, in the order of their requests. */
  readonly #asking = new Set<TargetQueue>()
  #hasBegun = false
  #lastSeq = 0
  #isRunning = false
  #isCheckDue = false
  #settling: Promise<void> | undefined
  #settleTimer: NodeJS.Timeout | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(deps: OutboxDeps) {
    this.#deps = deps
  }

  /** Leaves deliveries to targets that are not added yet untouched. */
  async start(): Promise<void> {
    const { events } = this.#deps
    this.#isRunning = true
    for (const queue of this.#queues.values()) queue.start()
    events.on('alertChanged', ({ event, alert }) => {
      if (event !== 'opened') this.#forget(alert.alertId)
      this.#checkSoon()
    })
    this.check()
  }

  /** Aborts attempts in progress. */
  async stop(): Promise<void> {
    this.#isRunning = false
    clearTimeout(this.#timer)
    clearTimeout(this.#settleTimer)
    await Promise.all([...this.#queues.values()].map((queue) => queue.stop()))
    await this.#settling
    await this.#settle()
    clearTimeout(this.#timer)
  }

  /** Adds a target; must be called before anything is queued for it, or before the start. */
  add(target: Target, { lastSuccessAtMs, lastError }: TargetStatus): void {
    const { clock, random, store } = this.#deps
    const queue = new TargetQueue(
      target,
      { lastSuccessAtMs, lastError },
      {
        clock,
        random,
        mayBegin: (asking) => this.#mayBegin(asking),
        texts: (seqs) => store.read.deliveryTexts(target.targetId, seqs),
        settled: (of, seqs, how) => this.#end(of, seqs, how),
        failed: (of, reason, how) => this.#note(of, reason, how),
      },
    )
    this.#queues.set(target.targetId, queue)
    if (!this.#isRunning) return
    queue.start()
    // rows that the writer thread queued may have been read before the target was known here
    for (const row of store.read.deliveriesOfTarget(target.targetId, this.#lastSeq)) queue.add(row)
  }

  /** Removes a target and aborts its attempts immediately. */
  async remove(targetId: string): Promise<void> {
    const queue = this.#queues.get(targetId)
    this.#queues.delete(targetId)
    this.#outcomes.delete(targetId)
    await queue?.stop()
  }

  statusOf(targetId: string): TargetStatus & { waiting: number } {
    const queue = this.#queues.get(targetId)
    return { ...(queue?.status ?? NEVER), waiting: queue?.waiting ?? 0 }
  }

  waitingByChannel(): [Channel, number][] {
    const sum = (channel: Channel) =>
      [...this.#queues.values()]
        .filter((queue) => queue.channel === channel)
        .reduce((waiting, queue) => waiting + queue.waiting, 0)
    return CHANNELS.map((channel) => [channel, sum(channel)])
  }

  /** Reads the rows queued since the last call. */
  check(): void {
    if (!this.#isRunning) return
    try {
      this.#read()
    } catch (error) {
      this.#later(error)
    }
  }

  #read(): void {
    const rows = this.#deps.store.read.deliveries(this.#lastSeq, PAGE_ROWS)
    for (const row of rows) {
      for (const targetId of row.targetIds) this.#queues.get(targetId)?.add(row)
      this.#lastSeq = row.seq
    }
    // a long outage may have left many rows
    if (rows.length === PAGE_ROWS) this.#checkSoon()
  }

  /** Schedules one read for all alerts of a transaction, in a later tick so that other work runs first. */
  #checkSoon(): void {
    if (this.#isCheckDue) return
    this.#isCheckDue = true
    setImmediate(() => {
      this.#isCheckDue = false
      this.check()
    })
  }

  /** Cancels waiting messages about an alert that was acknowledged or closed. */
  #forget(alertId: string): void {
    const waiting = [...this.#queues].filter(([, queue]) => queue.waitsWith(alertId))
    if (waiting.length === 0) return
    try {
      const rows = this.#deps.store.read.deliveriesOfAlert(alertId)
      for (const [targetId, queue] of waiting) {
        const kept = rows.filter(({ targetIds }) => targetIds.includes(targetId))
        queue.keepOnly(alertId, new Set(kept.map(({ seq }) => seq)))
      }
    } catch {
      // each queue detects this when it reads the texts to send
    }
  }

  /** Allows one attempt per tick of the event loop, each target in order, so that other work runs in between. */
  #mayBegin(queue: TargetQueue): boolean {
    if (this.#hasBegun) {
      this.#asking.add(queue)
      return false
    }
    this.#hasBegun = true
    setImmediate(() => this.#nextTurn())
    return true
  }

  #nextTurn(): void {
    this.#hasBegun = false
    for (const queue of this.#asking) {
      this.#asking.delete(queue)
      queue.run()
      if (this.#hasBegun) return
    }
  }

  #end({ targetId, channel }: Target, seqs: readonly number[], how: 'delivered' | 'dropped'): void {
    this[how].add(channel, how === 'delivered' ? 1 : seqs.length)
    for (const seq of seqs) this.#settled.push({ seq, targetId })
    if (how === 'delivered') this.#keepOutcome(targetId)
    else
      this.#deps.log.warn({ channel, targetId, count: seqs.length }, 'dropped messages: too old, or too many waiting')
    this.#settleSoon()
  }

  #note({ targetId, channel }: Target, reason: string, how: { isFirst: boolean; isNew: boolean }): void {
    this.failed.add(channel)
    if (how.isFirst) this.#deps.log.warn({ channel, targetId, reason }, 'notification delivery failed; will retry')
    if (!how.isNew) return
    this.#keepOutcome(targetId)
    this.#settleSoon()
  }

  #keepOutcome(targetId: string): void {
    const queue = this.#queues.get(targetId)
    if (queue !== undefined) this.#outcomes.set(targetId, { targetId, ...queue.status })
  }

  /** Schedules one write for all outcomes until then. */
  #settleSoon(): void {
    if (this.#settling !== undefined || this.#settleTimer !== undefined || !this.#isRunning) return
    this.#settleTimer = setTimeout(() => {
      this.#settleTimer = undefined
      this.#settling = this.#settle().finally(() => {
        this.#settling = undefined
        if (this.#timer === undefined && this.#settled.length + this.#outcomes.size > 0) this.#settleSoon()
      })
    }, SETTLE_MS)
  }

  async #settle(): Promise<void> {
    const settled = this.#settled.splice(0)
    const outcomes = [...this.#outcomes.values()]
    this.#outcomes.clear()
    if (settled.length + outcomes.length === 0) return
    try {
      await this.#deps.store.write('settleDeliveries', { settled, outcomes })
    } catch (error) {
      this.#settled.push(...settled)
      for (const outcome of outcomes)
        if (this.#queues.has(outcome.targetId) && !this.#outcomes.has(outcome.targetId))
          this.#outcomes.set(outcome.targetId, outcome)
      this.#later(error)
    }
  }

  #later(error: unknown): void {
    // the store has logged already that it is unusable
    if (!(error instanceof UnavailableError))
      this.#deps.log.error({ reason: describeError(error) }, 'outbox access failed; will retry')
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.check()
      this.#settleSoon()
    }, RETRY_MS)
  }
}
