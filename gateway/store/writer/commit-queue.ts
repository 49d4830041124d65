import { EventEmitter, once } from 'node:events'
import { Fifo } from '#shared/budgets/fifo.ts'
import { AppError, DamagedError, describeError, UnavailableError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import { describeFault, isDamage, storeFaultCode } from '../db/fault.ts'
import type { AppendBatch, AppendResult } from './append.ts'
import type { Appendable, Appender } from './appender.ts'
import type { WriterAnswer, WriterRequest } from './messages.ts'
import { Outcomes } from './outcomes.ts'
import type { WriteName } from './writes.ts'

interface QueueEvents {
  /** A full queue has space again. */
  room: []
  /** A store that was unusable can be written again. */
  usable: []
}

/** Part of the writer thread that the queue uses. */
interface WriterPort {
  perform(request: WriterRequest): Promise<WriterAnswer>
}

interface WriteItem {
  kind: 'write'
  request: WriterRequest
  onWritten: ((result: unknown) => void) | undefined
  resolve: (value: unknown) => void
  reject: (error: Error) => void
}

type Item<Message> = { kind: 'append'; message: Message } | WriteItem

/** `isUnread`: the batch could not be encoded, because of a damaged page that the writer has not met. */
type Failure = Extract<WriterAnswer, { kind: 'failed' }> & { isUnread?: boolean }
type Outcome = WriterAnswer | Failure

interface InFlight<Message> {
  messages: Message[]
  answer: Promise<Outcome>
}

export interface StoreHealth {
  isUsable: boolean
  detail: string | null
}

/** Limit of group commit: larger transactions gain nothing and delay all their messages. */
const MAX_BATCH_ROWS = 1000
/** Waiting rows that let a batch be handed over during the previous one: a transaction's fixed cost is small then. */
const OVERLAP_ROWS = 200
const RETRY_MS = 500
/** A disk that does not answer for this long counts as unusable: waiting callers are refused. */
const STALL_MS = 10_000
/** Time for queued items to reach the disk when the gateway stops. */
const STOP_MS = 5_000

/**
 * FIFO in front of the writer. All messages that arrive during a transaction share the next one; a write of the API has
 * a transaction of its own, at its position in the queue.
 *
 * Each transaction writes whole pages, however few its rows are. So under low load transactions of messages begin at
 * least `pauseMs` apart. The first message after a longer pause, many rows, and everything before a waiting API write
 * are written immediately.
 *
 * While the store is unusable (disk full, I/O error), messages stay at the head and are retried, so that only messages
 * on the disk are acknowledged; writes fail immediately with `store_unavailable`. Without messages to retry the store
 * is probed, so that it becomes usable again without a request. A damaged page does not make the store unusable: only
 * the messages and writes that meet it are refused.
 */
export class CommitQueue<Message extends Appendable = Appendable> extends EventEmitter<QueueEvents> {
  readonly #writer: WriterPort
  readonly #log: Log
  readonly #maxRows: number
  readonly #pauseMs: number
  readonly #items = new Fifo<Item<Message>>()
  readonly #inFlight: InFlight<Message>[] = []
  #appender: Appender<Message> | undefined
  #outcomes: Outcomes<Message> | undefined
  #rows = 0
  #rowsInFlight = 0
  #run = 0
  #isRunning = false
  /** Number of queued writes with a waiting caller. */
  #hurriedWrites = 0
  #isGathering = false
  #handedOverAtMs = Number.NEGATIVE_INFINITY
  #hasEncodingFailed = false
  #isStopping = false
  #fault: string | null = null
  #performing: WriteItem | undefined
  #wake: (() => void) | undefined
  #idle: Promise<void> = Promise.resolve()

  constructor(writer: WriterPort, maxRows: number, log: Log, pauseMs = 0) {
    super()
    this.#writer = writer
    this.#maxRows = maxRows
    this.#pauseMs = pauseMs
    this.#log = log
  }

  /** Allows messages to be appended from now on; `appender` encodes their rows. */
  attach(appender: Appender<Message>): void {
    this.#appender = appender
    this.#outcomes = new Outcomes(appender, this.#log)
  }

  get waitingRows(): number {
    return this.#rows
  }

  get isFull(): boolean {
    return this.#rows >= this.#maxRows
  }

  get health(): StoreHealth {
    return { isUsable: this.#fault === null, detail: this.#fault }
  }

  append(message: Message): void {
    this.#rows += message.rows
    this.#items.push({ kind: 'append', message })
    this.#start()
    this.#goOn()
  }

  /**
   * Rejects with the `AppError` of a failed check, or with `store_unavailable`. `onWritten` is called when the write is
   * on the disk and before later items are encoded: all earlier items are committed, and no later one has begun.
   */
  write(request: WriterRequest, onWritten?: (result: unknown) => void): Promise<unknown> {
    if (this.#isStopping) return Promise.reject(new UnavailableError('the gateway is stopping'))
    if (this.#fault !== null) {
      return Promise.reject(new UnavailableError('the store cannot be written', this.#fault))
    }
    return new Promise((resolve, reject) => {
      this.#items.push({ kind: 'write', request, onWritten, resolve, reject })
      if (isHurried(request)) this.#hurriedWrites++
      this.#start()
      this.#goOn()
    })
  }

  /** Rejects new writes and waits until the queue is stored; drops it if the store is unusable. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#wake?.()
    const giveUp = new AbortController()
    const timer = setTimeout(() => giveUp.abort(), STOP_MS)
    await Promise.race([this.#idle, once(giveUp.signal, 'abort')])
    clearTimeout(timer)
    this.#rejectWaitingWrites()
    if (this.#rows === 0) return
    this.#log.error(
      { rows: this.#rows, reason: this.#fault },
      'stopped before all rows were stored; their messages are not acknowledged',
    )
  }

  #start(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    this.#idle = this.#drain()
  }

  async #drain(): Promise<void> {
    // waits one tick, so that all messages read from the sockets in this one share the first transaction
    await new Promise(setImmediate)
    while (this.#items.length > 0 || this.#inFlight.length > 0 || this.#isToBeProbed) {
      if (this.#isToBeProbed && this.#inFlight.length === 0) {
        await this.#pause()
        if (this.#items.length === 0) await this.#probe()
      }
      this.#fill()
      const oldest = this.#inFlight.shift()
      if (oldest !== undefined) {
        if (!(await this.#settle(oldest))) break
      } else if (this.#items.peek()?.kind === 'write') {
        const item = this.#items.take()
        if (item?.kind !== 'write') continue
        if (isHurried(item.request)) this.#hurriedWrites--
        await this.#perform(item)
      } else if (this.#items.length > 0) {
        this.#isGathering = true
        await this.#pause(this.#dueInMs)
        this.#isGathering = false
      }
    }
    this.#isRunning = false
  }

  /** Time in ms until the next batch may be handed over. */
  get #dueInMs(): number {
    const isMuch = this.#rows - this.#rowsInFlight >= OVERLAP_ROWS
    if (isMuch || this.#hurriedWrites > 0 || this.#isStopping) return 0
    return Math.max(0, this.#handedOverAtMs + this.#pauseMs - performance.now())
  }

  /** Ends the pause between two batches if there is no reason for it any more. */
  #goOn(): void {
    if (this.#isGathering && this.#dueInMs === 0) this.#wake?.()
  }

  get #isToBeProbed(): boolean {
    return this.#fault !== null && !this.#isStopping
  }

  /** Hands batches over: one, and a second one during the first if enough rows wait. */
  #fill(): void {
    while (this.#items.peek()?.kind === 'append' && !this.#hasEncodingFailed) {
      const isBusy = this.#inFlight.length > 0
      if (!isBusy && this.#dueInMs > 0) return
      if (isBusy && (this.#inFlight.length > 1 || this.#rows - this.#rowsInFlight < OVERLAP_ROWS)) return
      this.#handedOverAtMs = performance.now()
      const messages = this.#takeMessages()
      this.#inFlight.push({ messages, answer: this.#send(this.#encode(messages)) })
    }
  }

  #takeMessages(): Message[] {
    const messages: Message[] = []
    let rows = 0
    for (let head = this.#items.peek(); head?.kind === 'append'; head = this.#items.peek()) {
      if (messages.length > 0 && rows + head.message.rows > MAX_BATCH_ROWS) break
      rows += head.message.rows
      messages.push(head.message)
      this.#items.take()
    }
    this.#rowsInFlight += rows
    return messages
  }

  /** Encodes the messages as a batch; returns the failure if it cannot. */
  #encode(messages: readonly Message[]): AppendBatch | Failure {
    try {
      if (this.#appender === undefined) throw new Error('call attach before append')
      return this.#appender.encode(messages)
    } catch (error) {
      // no message may overtake one that was not even sent
      this.#hasEncodingFailed = true
      // the appender reads from the store, which may be the cause
      const code = storeFaultCode(error)
      const isUnread = isDamage(code)
      const isStoreFault = code !== null && !isUnread
      return { kind: 'failed', message: describeFault(error), isStoreFault, isDamage: isUnread, isUnread }
    }
  }

  async #send(encoded: AppendBatch | Failure): Promise<Outcome> {
    if ('kind' in encoded) return encoded
    try {
      return await this.#ask({ kind: 'append', batch: encoded, run: this.#run })
    } catch (error) {
      // its transaction may have been committed; every row is idempotent, so it can be sent again
      return { kind: 'failed', message: describeError(error), isStoreFault: true }
    }
  }

  async #ask(request: WriterRequest): Promise<WriterAnswer> {
    const timer = setTimeout(() => this.#fail('the disk does not answer'), STALL_MS)
    try {
      return await this.#writer.perform(request)
    } finally {
      clearTimeout(timer)
    }
  }

  /** Has the writer search for damage that a read met, before a retry; a failure if the disk returns nothing at all. */
  async #repair(fault: string): Promise<Outcome> {
    try {
      const answer = await this.#ask({ kind: 'mend', fault })
      return answer.kind === 'failed' ? answer : { kind: 'skipped' }
    } catch (error) {
      return { kind: 'failed', message: describeError(error), isStoreFault: true }
    }
  }

  async #probe(): Promise<void> {
    if (this.#isStopping) return
    try {
      const answer = await this.#ask({ kind: 'probe' })
      if (answer.kind === 'written') this.#recover()
      else if (answer.kind === 'failed') this.#fail(answer.message)
    } catch (error) {
      this.#fail(describeError(error))
    }
  }

  /** Processes the outcome of a batch. Returns false if the store is unusable and the gateway is stopping. */
  async #settle({ messages, answer }: InFlight<Message>): Promise<boolean> {
    const outcome = await answer
    if (outcome.kind === 'appended') {
      this.#commit(messages, outcome.result)
      this.#fill()
      await this.#acknowledge(messages)
      return true
    }
    const followers = this.#inFlight.splice(0)
    await Promise.all(followers.map((follower) => follower.answer))
    const isStored = await this.#store([messages, ...followers.map((follower) => follower.messages)], outcome)
    this.#hasEncodingFailed = false
    return isStored
  }

  /** Stores batches one after the other, with retries while the store is unusable. */
  async #store(batches: Message[][], failure: Outcome): Promise<boolean> {
    let last = failure
    if ('isUnread' in last && last.isUnread) last = await this.#repair(last.message)
    for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
      for (;;) {
        this.#run++
        this.#appender?.discarded()
        if (last.kind === 'failed' && !last.isStoreFault) {
          const each = batch.flatMap((message) => this.#appender?.split?.(message) ?? [message])
          // otherwise one of these messages is the cause, which must not affect the others
          if (!(await this.#isRefused(each, last))) batches.unshift(...each.map((message) => [message]))
          last = { kind: 'skipped' }
          break
        }
        if (last.kind === 'failed') {
          this.#fail(last.message)
          if (this.#isStopping) return false
          await this.#pause()
        }
        last = await this.#send(this.#encode(batch))
        if ('isUnread' in last && last.isUnread) {
          const repaired = await this.#repair(last.message)
          if (repaired.kind === 'failed') last = repaired
        }
        if (last.kind !== 'appended') continue
        this.#commit(batch, last.result)
        await this.#acknowledge(batch)
        break
      }
    }
    return true
  }

  async #isRefused(batch: readonly Message[], { message: reason, isDamage = false }: Failure): Promise<boolean> {
    const [only] = batch
    if (batch.length !== 1 || only === undefined) return false
    this.#log.error({ reason }, 'message not stored: the database rejected it')
    if (isDamage && (await this.#isRescued(only))) this.#outcomes?.stored(only)
    else this.#outcomes?.refused(only, reason)
    this.#free(batch)
    return true
  }

  async #isRescued(message: Message): Promise<boolean> {
    try {
      const request = this.#appender?.rescue?.(message) ?? null
      return request !== null && (await this.#ask(request)).kind === 'written'
    } catch (error) {
      this.#log.error({ reason: describeError(error) }, 'quarantining a refused message failed')
      return false
    }
  }

  #commit(messages: readonly Message[], result: AppendResult): void {
    this.#recover()
    this.#outcomes?.committed(messages, result)
  }

  async #acknowledge(messages: readonly Message[]): Promise<void> {
    await this.#outcomes?.acknowledge(messages)
    this.#free(messages)
  }

  #free(messages: readonly Message[]): void {
    const wasFull = this.isFull
    for (const message of messages) {
      this.#rows -= message.rows
      this.#rowsInFlight -= message.rows
    }
    if (wasFull && !this.isFull) this.emit('room')
  }

  async #perform(item: WriteItem): Promise<void> {
    this.#performing = item
    try {
      const answer = await this.#ask(item.request)
      if (answer.kind === 'written') {
        item.onWritten?.(answer.result)
        item.resolve(answer.result)
        this.#recover()
      } else if (answer.kind === 'refused') {
        item.reject(new AppError(answer.error.kind, answer.error.code, answer.error.message))
      } else if (answer.kind === 'failed' && answer.isStoreFault) {
        item.reject(new UnavailableError('the store cannot be written', answer.message))
        this.#fail(answer.message)
      } else if (answer.kind === 'failed' && answer.isDamage) {
        item.reject(new DamagedError(answer.message))
      } else {
        item.reject(new Error(answer.kind === 'failed' ? answer.message : 'unexpected response of the writer'))
      }
    } catch (error) {
      item.reject(new UnavailableError('the store stopped while writing', error))
    }
    this.#performing = undefined
  }

  #fail(reason: string): void {
    if (this.#fault === null) this.#log.error({ reason }, 'the store is unusable')
    this.#fault = reason
    this.#rejectWaitingWrites()
  }

  #recover(): void {
    if (this.#fault === null) return
    this.#log.info({}, 'the store is usable again')
    this.#fault = null
    this.emit('usable')
  }

  #rejectWaitingWrites(): void {
    // a row in the writer thread has its outcome already, or will never get one
    this.#performing?.reject(new UnavailableError('the store does not answer', this.#fault))
    for (let remaining = this.#items.length; remaining > 0; remaining--) {
      const item = this.#items.take()
      if (item?.kind === 'write' && isHurried(item.request)) this.#hurriedWrites--
      if (item?.kind === 'append') this.#items.push(item)
      else item?.reject(new UnavailableError('the store cannot be written', this.#fault))
    }
  }

  async #pause(ms = RETRY_MS): Promise<void> {
    if (this.#isStopping) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#wake = undefined
  }
}

/** Writes of the gateway's own loops, without a waiting caller: messages of devices may collect before them. */
const PATIENT_WRITES: ReadonlySet<WriteName> = new Set<WriteName>([
  'acknowledge',
  'recordUsage',
  'recordClockMark',
  'replaceBlocks',
  'dropLog',
  'purgeTelemetryStep',
  'deleteDeviceTelemetryStep',
  'deleteSentBlocks',
])

function isHurried(request: WriterRequest): boolean {
  return request.kind !== 'write' || !PATIENT_WRITES.has(request.name)
}
