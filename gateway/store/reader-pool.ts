import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { UnavailableError } from '../../shared/errors.ts'
import { Fifo } from '../../shared/fifo.ts'
import type { Part } from '../../shared/lifecycle.ts'
import type { Log } from '../../shared/log.ts'
import type { Tally } from '../../shared/tally.ts'
import type { HistoryPage, HistoryPageRequest } from './history-page.ts'
import type { ReaderAnswer } from './reader-worker.ts'

interface Job {
  request: HistoryPageRequest
  attempts: number
  resolve: (page: HistoryPage) => void
  reject: (error: Error) => void
}

const MAX_ATTEMPTS = 2
/** After a page of a long read its thread rests so many times as long as the page took: devices come first. */
const REST_RATIO = 1
/** How long a thread without work is kept: it costs some 15 MB, and most of the day nobody reads history. */
const IDLE_MS = 60_000
/** A thread that dies at its start must not be started again in a tight loop. */
const RESTART_MS = 100

/**
 * Threads with read-only connections, started when there is something to read. A long read is many short requests,
 * each for one page, so that many long reads take turns, none holds a snapshot open, and one that nobody wants any more
 * simply stops asking.
 */
export class ReaderPool implements Part {
  readonly #faults: Tally
  readonly #path: string
  readonly #maxThreads: number
  readonly #log: Log
  readonly #jobs = new Fifo<Job>()
  readonly #idle = new Map<Worker, NodeJS.Timeout>()
  readonly #busy = new Map<Worker, Job>()
  readonly #resting = new Map<Worker, NodeJS.Timeout>()
  #isRunning = false
  #restart: NodeJS.Timeout | undefined

  /** `threads` 0 is one less than there are cores, at least one. */
  constructor(path: string, threads: number, faults: Tally, log: Log) {
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
    for (const timer of this.#idle.values()) clearTimeout(timer)
    for (const timer of this.#resting.values()) clearTimeout(timer)
    const workers = [...this.#idle.keys(), ...this.#resting.keys(), ...this.#busy.keys()]
    this.#idle.clear()
    this.#resting.clear()
    await Promise.all(workers.map((worker) => worker.terminate()))
    for (let job = this.#jobs.take(); job !== undefined; job = this.#jobs.take()) job.reject(stopping())
  }

  readPage(request: HistoryPageRequest): Promise<HistoryPage> {
    if (!this.#isRunning) return Promise.reject(stopping())
    return new Promise((resolve, reject) => {
      this.#jobs.push({ request, attempts: 0, resolve, reject })
      this.#dispatch()
    })
  }

  #dispatch(): void {
    while (this.#isRunning && this.#jobs.length > 0) {
      const worker = this.#takeIdle() ?? this.#spawn()
      if (worker === undefined) return
      const job = this.#jobs.take()
      if (job === undefined) return
      job.attempts++
      this.#busy.set(worker, job)
      worker.postMessage(job.request)
    }
  }

  #takeIdle(): Worker | undefined {
    for (const [worker, timer] of this.#idle) {
      clearTimeout(timer)
      this.#idle.delete(worker)
      return worker
    }
    return undefined
  }

  #spawn(): Worker | undefined {
    if (this.#busy.size + this.#resting.size >= this.#maxThreads || this.#restart !== undefined)
      return undefined
    const worker = new Worker(new URL('./reader-worker.ts', import.meta.url), {
      workerData: { path: this.#path },
      // small, so that it is collected rather than grown: a page needs a megabyte
      resourceLimits: { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 48 },
    })
    worker.on('message', (answer: ReaderAnswer) => {
      const job = this.#busy.get(worker)
      this.#busy.delete(worker)
      const isLong = job !== undefined && job.request.previousMs !== null
      if (answer.kind === 'page' && isLong) this.#rest(worker, answer.tookMs * REST_RATIO)
      else this.#release(worker)
      if (answer.kind === 'page') job?.resolve(answer.page)
      else {
        if (answer.faultCode !== null) this.#faults.add(answer.faultCode)
        job?.reject(new UnavailableError('the history cannot be read', answer.message))
      }
      this.#dispatch()
    })
    worker.on('error', (error) => this.#log.error({ reason: String(error) }, 'reader thread failed'))
    worker.on('exit', () => this.#forget(worker))
    return worker
  }

  #rest(worker: Worker, restMs: number): void {
    const timer = setTimeout(() => {
      this.#resting.delete(worker)
      this.#release(worker)
      this.#dispatch()
    }, restMs)
    this.#resting.set(worker, timer)
  }

  #release(worker: Worker): void {
    this.#idle.set(
      worker,
      setTimeout(() => void worker.terminate(), IDLE_MS),
    )
  }

  #forget(worker: Worker): void {
    clearTimeout(this.#idle.get(worker))
    this.#idle.delete(worker)
    clearTimeout(this.#resting.get(worker))
    // somebody may wait for its place
    if (this.#resting.delete(worker)) this.#dispatch()
    const job = this.#busy.get(worker)
    if (job === undefined) return
    this.#busy.delete(worker)
    if (!this.#isRunning) job.reject(stopping())
    else if (job.attempts >= MAX_ATTEMPTS) job.reject(new UnavailableError('the history cannot be read now'))
    else this.#jobs.push(job)
    this.#restart ??= setTimeout(() => {
      this.#restart = undefined
      this.#dispatch()
    }, RESTART_MS)
  }
}

function stopping(): UnavailableError {
  return new UnavailableError('the gateway is stopping')
}
