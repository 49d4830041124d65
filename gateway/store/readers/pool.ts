import { availableParallelism } from 'node:os'
import type { Worker } from 'node:worker_threads'
import { FairQueue } from '#shared/budgets/fair-queue.ts'
import type { Counter } from '#shared/counter.ts'
import { AppError, DamagedError, InvalidRequestError, UnavailableError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { startThread } from '#shared/thread.ts'
import { isDamage } from '../db/fault.ts'
import type { UnreadableBlock } from '../telemetry/unreadable-block.ts'
import type { JobInput, JobName, JobResult } from './jobs.ts'
import { READER_READY, type ReaderAnswer, type ReaderRequest } from './messages.ts'

/** Memory for a track of spikes only, see the limits of trips; usually some megabytes: fixes are outside the heap. */
const HEAP_MB = 512

export interface JobOptions {
  /** Key of fair scheduling: the id of the requesting user, or the name of an internal task. */
  owner: string
  /** Aborted when the caller no longer waits: a job that has not begun is dropped. */
  signal?: AbortSignal
  /** Short job with a waiting caller: there is an extra thread for such jobs. */
  isShort?: boolean
  /** Part of a long read: after it the thread takes no other such part for a while, so that devices come first. */
  isPartOfLongRead?: boolean
  /** Maximum duration in ms; a longer job is ended with its thread and fails with `too_complex`. */
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
  /** Resolves when the thread has a connection, has failed to open one, or has ended. */
  opened: PromiseWithResolvers<void>
  job: Job | undefined
  /** Set while the thread takes no parts of long reads. */
  rest: NodeJS.Timeout | undefined
  idle: NodeJS.Timeout | undefined
  /** Set during a job with a maximum duration. */
  limit: NodeJS.Timeout | undefined
}

const MAX_ATTEMPTS = 2
/** Rest of a thread after a part of a long read, as a multiple of the part's duration. */
const REST_RATIO = 1
/** Lifetime of an idle thread: it costs some 15 MB, and history is read only occasionally. */
const IDLE_MS = 60_000
/** Delay before a restart, so that a thread that dies at its start does not loop. */
const RESTART_MS = 100
/** Maximum wait for threads to end at a stop. */
const STOP_MS = 3000

/**
 * Threads with read-only connections, started on demand. A long read consists of many short jobs, so that long reads of
 * several callers alternate, none holds a snapshot open, and a cancelled one just requests no more.
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
   * `threads` 0 means one less than the number of cores, but at least one. `onUnreadable` is called with blocks that a
   * job could not read; the same block may be reported repeatedly. `onWrongPage` is called when a page of telemetry has
   * a wrong checksum, `onDamage` when a job failed because of damage.
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
    // a thread that hangs in a system call cannot be ended; the process must still be able to exit
    for (const { worker } of this.#threads) worker.unref()
  }

  /** Runs a job in a thread. Throws its errors, and `store_unavailable` if it cannot run or the pool is stopping. */
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
    // the thread can be ended only from then on, and its start is not part of the work
    await thread.opened.promise
    if (thread.job !== job) return
    thread.limit = setTimeout(() => {
      const detail = `processing takes longer than ${mostMs / 1000} s: use a simpler map or a smaller image`
      job.reject(new InvalidRequestError('too_complex', detail))
      // the job must not be retried
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

  /** Free thread, preferably a resting one if the job allows it: the others are left to long reads. */
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
      // a small young generation, so that it is collected rather than grown: a page needs a megabyte
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
    worker.on('message', (message: ReaderAnswer | typeof READER_READY) => {
      opened.resolve()
      if (message !== READER_READY) this.#answered(thread, message)
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
      if (isDamage(answer.faultCode)) {
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
      // a job may wait for its thread
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

/** Ends a thread after it has opened: native code may crash the process if a thread ends while it loads SQLite. */
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
