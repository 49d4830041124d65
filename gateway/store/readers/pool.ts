import { availableParallelism } from 'node:os'
import type { Worker } from 'node:worker_threads'
import { FairQueue } from '#shared/budgets/fair-queue.ts'
import type { Counter } from '#shared/counter.ts'
import { AppError, DamagedError, InvalidRequestError, UnavailableError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { startThread } from '#shared/thread.ts'
import { isDiskReadable } from '../damage/readable-disk.ts'
import { isDamage } from '../db/fault.ts'
import type { UnreadableBlock } from '../telemetry/unreadable-block.ts'
import type { JobInput, JobName, JobResult } from './jobs.ts'
import { READER_READY, type ReaderAnswer, type ReaderRequest } from './messages.ts'

/**
 * What a track of nothing but spikes needs, see the limits of trips. Nearly always it is a few megabytes: fixes lie
 * outside of it.
 */
const HEAP_MB = 512

/** For whom a job is done. */
export interface JobOptions {
  /** Owners take turns: the id of the user who asks, or a name of what the gateway itself does. */
  owner: string
  /** Aborted when the caller no longer waits: a job that has not begun is dropped. */
  signal?: AbortSignal
  /** A short job that a caller waits for: there is an extra thread for such jobs. */
  isShort?: boolean
  /** Part of a long read: after it the thread does no other such part for a while, so that devices come first. */
  isPartOfLongRead?: boolean
  /** Longer than this the job may not take; then its thread is ended and the job refused with `too_complex`. */
  mostMs?: number
}

interface Job extends JobOptions {
  request: ReaderRequest
  attempts: number
  resolve: (result: unknown) => void
  reject: (error: Error) => void
}

interface Thread {
  worker: Worker
  /** Resolves when it has a connection, has failed to open one, or has ended. */
  opened: PromiseWithResolvers<void>
  job: Job | undefined
  /** Set while it rests from long reads. */
  rest: NodeJS.Timeout | undefined
  idle: NodeJS.Timeout | undefined
  /** Set while a job is done that may take only so long. */
  limit: NodeJS.Timeout | undefined
}

const MAX_ATTEMPTS = 2
/** After a part of a long read its thread rests from them so many times as long as the part took. */
const REST_RATIO = 1
/** How long a thread without work is kept: it costs some 15 MB, and history is read only now and then. */
const IDLE_MS = 60_000
/** A thread that dies at its start must not be started again in a tight loop. */
const RESTART_MS = 100
/** How long a stop waits for threads to end. */
const STOP_MS = 3000

/**
 * Threads with read-only connections, started when there is something to read. A long read is many short jobs, so that
 * many long reads take turns, none holds a snapshot open, and a cancelled one simply stops asking.
 */
export class ReaderPool implements Component {
  readonly #faults: Counter
  readonly #path: string
  readonly #maxThreads: number
  readonly #log: Log
  readonly #queue = new FairQueue<Job>()
  readonly #threads = new Set<Thread>()
  readonly #onUnreadable: (blocks: UnreadableBlock[]) => void
  readonly #onWrongPage: (fault: string) => void
  readonly #onDamage: (fault: string) => void
  #isRunning = false
  #restart: NodeJS.Timeout | undefined

  /**
   * `threads` 0 is one less than there are cores, at least one. `onUnreadable` is called with blocks that a job could
   * not read; the same block may come again and again. `onWrongPage` is called when a page of telemetry has a wrong
   * checksum, `onDamage` when a job met damage and failed.
   */
  constructor(
    path: string,
    threads: number,
    faults: Counter,
    log: Log,
    onUnreadable: (blocks: UnreadableBlock[]) => void = () => undefined,
    onWrongPage: (fault: string) => void = () => undefined,
    onDamage: (fault: string) => void = () => undefined,
  ) {
    this.#onUnreadable = onUnreadable
    this.#onWrongPage = onWrongPage
    this.#onDamage = onDamage
    this.#faults = faults
    this.#path = path
    this.#maxThreads = threads > 0 ? threads : Math.max(1, availableParallelism() - 1)
    this.#log = log
  }

  async start(): Promise<void> {
    this.#isRunning = true
  }

  async stop(): Promise<void> {
    this.#isRunning = false
    clearTimeout(this.#restart)
    this.#restart = undefined
    for (let job = this.#takeJob(); job !== undefined; job = this.#takeJob()) job.reject(stopping())
    const giveUp = Promise.withResolvers<void>()
    const timer = setTimeout(giveUp.resolve, STOP_MS)
    const threads = [...this.#threads]
    for (const { job } of threads) job?.reject(stopping())
    await Promise.race([Promise.all(threads.map(end)), giveUp.promise])
    clearTimeout(timer)
    // one that hangs in the system cannot be ended; the process must be able to
    for (const { worker } of this.#threads) worker.unref()
  }

  /** Runs a job in a thread. Throws what it threw, and `store_unavailable` when it cannot be run or is not wanted. */
  run<Name extends JobName>(name: Name, input: JobInput<Name>, options: JobOptions): Promise<JobResult<Name>> {
    const { owner, signal } = options
    if (!this.#isRunning) return Promise.reject(stopping())
    if (signal?.aborted) return Promise.reject(abandoned())
    let onAbort: () => void = () => undefined
    const result = new Promise<unknown>((resolve, reject) => {
      const job: Job = { ...options, request: { name, input }, attempts: 0, resolve, reject }
      onAbort = () => {
        this.#queue.remove(owner, job)
        reject(abandoned())
      }
      signal?.addEventListener('abort', onAbort)
      this.#queue.push(owner, job)
      this.#dispatch()
    }).finally(() => signal?.removeEventListener('abort', onAbort))
    // performJob runs the function of that name, so its result is of that type
    return result as Promise<JobResult<Name>>
  }

  #dispatch(): void {
    while (this.#isRunning && !this.#queue.isEmpty) {
      const job = this.#takeJob((one) => this.#canStart(one))
      if (job === undefined) return
      const thread = this.#freeThread(job) ?? this.#spawn()
      clearTimeout(thread.idle)
      thread.job = job
      job.attempts++
      thread.worker.postMessage(job.request)
      void this.#limit(thread, job)
    }
  }

  async #limit(thread: Thread, job: Job): Promise<void> {
    const { mostMs } = job
    if (mostMs === undefined) return
    // it can be ended only then, and its start is not part of the work
    await thread.opened.promise
    if (thread.job !== job) return
    thread.limit = setTimeout(() => {
      job.reject(new InvalidRequestError('too_complex', `this takes longer than ${mostMs / 1000} s`))
      // nothing is left that is tried again
      thread.job = undefined
      this.#threads.delete(thread)
      void thread.worker.terminate()
    }, mostMs)
  }

  #takeJob(isPossible: (job: Job) => boolean = () => true): Job | undefined {
    return this.#queue.take(isPossible)
  }

  #canStart(job: Job): boolean {
    const limit = this.#maxThreads + (job.isShort ? 1 : 0)
    if (this.#busyCount >= limit) return false
    const hasRoom = this.#threads.size < limit && this.#restart === undefined
    return hasRoom || this.#freeThread(job) !== undefined
  }

  get #busyCount(): number {
    let count = 0
    for (const { job } of this.#threads) if (job !== undefined) count++
    return count
  }

  /** One that rests, if it may: the others are left to long reads. */
  #freeThread({ isPartOfLongRead = false }: Job): Thread | undefined {
    let rested: Thread | undefined
    for (const thread of this.#threads) {
      if (thread.job !== undefined) continue
      if (thread.rest === undefined) rested = thread
      else if (!isPartOfLongRead) return thread
    }
    return rested
  }

  #spawn(): Thread {
    const worker = startThread('reader', {
      workerData: { path: this.#path },
      // the young one small, so that it is collected rather than grown: a page needs a megabyte
      resourceLimits: { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: HEAP_MB },
    })
    const opened = Promise.withResolvers<void>()
    const thread: Thread = {
      worker,
      opened,
      job: undefined,
      rest: undefined,
      idle: undefined,
      limit: undefined,
    }
    this.#threads.add(thread)
    worker.on('message', (said: ReaderAnswer | typeof READER_READY) => {
      opened.resolve()
      if (said !== READER_READY) this.#answered(thread, said)
    })
    worker.on('error', (error) => this.#log.error({ reason: String(error) }, 'a reader thread failed'))
    worker.on('exit', () => this.#forget(thread))
    return thread
  }

  #answered(thread: Thread, answer: ReaderAnswer): void {
    const { job } = thread
    thread.job = undefined
    clearTimeout(thread.limit)
    thread.idle = setTimeout(() => void thread.worker.terminate(), IDLE_MS)
    if (answer.unreadable.length > 0) this.#onUnreadable(answer.unreadable)
    if (answer.kind === 'done') {
      if (answer.wrongPage !== null) this.#onWrongPage(answer.wrongPage)
      if (job?.isPartOfLongRead) this.#rest(thread, answer.tookMs * REST_RATIO)
      job?.resolve(answer.result)
    } else if (answer.kind === 'refused') {
      const { kind, code, message } = answer.error
      job?.reject(new AppError(kind, code, message))
    } else {
      if (answer.faultCode !== null) this.#faults.add(answer.faultCode)
      if (isDamage(answer.faultCode) && isDiskReadable(this.#path)) {
        this.#onDamage(answer.message)
        job?.reject(new DamagedError(answer.message))
      } else job?.reject(new UnavailableError('the history cannot be read', answer.message))
    }
    this.#dispatch()
  }

  #rest(thread: Thread, restMs: number): void {
    clearTimeout(thread.rest)
    thread.rest = setTimeout(() => {
      thread.rest = undefined
      this.#dispatch()
    }, restMs)
  }

  #forget(thread: Thread): void {
    const { job } = thread
    this.#threads.delete(thread)
    thread.opened.resolve()
    clearTimeout(thread.idle)
    clearTimeout(thread.rest)
    clearTimeout(thread.limit)
    if (!this.#isRunning) job?.reject(stopping())
    else if (job === undefined) {
      // a job may wait for its place
      this.#dispatch()
    } else {
      this.#restart ??= setTimeout(() => {
        this.#restart = undefined
        this.#dispatch()
      }, RESTART_MS)
      if (job.attempts >= MAX_ATTEMPTS) job.reject(new UnavailableError('the history cannot be read now'))
      else if (!job.signal?.aborted) this.#queue.push(job.owner, job)
      this.#dispatch()
    }
  }
}

/**
 * A thread that is ended while it loads SQLite can take the process along: native code meets an error that it cannot
 * throw.
 */
async function end({ worker, opened }: Thread): Promise<void> {
  await opened.promise
  await worker.terminate()
}

function stopping(): UnavailableError {
  return new UnavailableError('the gateway is stopping')
}

function abandoned(): UnavailableError {
  return new UnavailableError('the request was cancelled')
}
