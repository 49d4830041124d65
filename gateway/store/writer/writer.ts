import { once } from 'node:events'
import { statSync } from 'node:fs'
import type { Worker } from 'node:worker_threads'
import { Counter } from '#shared/counter.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { startThread } from '#shared/thread.ts'
import { systemClock } from '#shared/time.ts'
import { DamageFindings } from '../damage/findings.ts'
import { isDamage } from '../db/fault.ts'
import type { AppendBatch } from './append.ts'
import { CommitTimes } from './commit-times.ts'
import type { WriterAnswer, WriterReport, WriterRequest } from './messages.ts'

/** The writer thread died during a request; it is unknown whether the request was committed. */
class WriterDiedError extends Error {}

interface Pending {
  resolve: (answer: WriterAnswer) => void
  reject: (error: Error) => void
}

const STOP_MS = 3_000

/** Counts faults by code, and reports damage. */
class FaultTally extends Counter {
  /** Called for every fault that is damage, wherever it was met. */
  onDamage: () => void = () => undefined

  override add(code: string, count = 1): void {
    super.add(code, count)
    if (isDamage(code)) this.onDamage()
  }
}

/** Buffers to transfer instead of copying them. */
function buffersOf({ samples, stateChanges }: AppendBatch): ArrayBuffer[] {
  // not shared: both were created for this batch
  return [samples.buffer, stateChanges.buffer] as ArrayBuffer[]
}

/** Runs the writer thread, which answers in order. A thread that dies is restarted for the next request. */
export class Writer implements Component {
  readonly faults = new FaultTally()
  readonly commitTimes: CommitTimes
  readonly #path: string
  readonly #log: Log
  readonly #damage: DamageFindings
  #inode: bigint | undefined
  #answeredAtMs = performance.now()
  #worker: Worker | undefined
  #pending: Pending[] = []

  /** `damage` receives the damage that the thread finds. */
  constructor(path: string, log: Log, damage: DamageFindings = new DamageFindings(log)) {
    this.#path = path
    this.#log = log
    this.#damage = damage
    this.commitTimes = new CommitTimes(log)
  }

  get answeredAtMs(): number {
    return this.#answeredAtMs
  }

  /** The database must exist. */
  async start(): Promise<void> {
    this.#inode = statSync(this.#path, { bigint: true }).ino
    const worker = this.#spawn()
    await once(worker, 'online')
  }

  /** Copies the log into the database and ends the thread. */
  async stop(): Promise<void> {
    const worker = this.#worker
    if (worker === undefined) return
    const giveUp = AbortSignal.timeout(STOP_MS)
    const answer = await Promise.race([
      this.perform({ kind: 'checkpoint' }).catch(
        ({ message }: Error): WriterAnswer => ({ kind: 'failed', message, isStoreFault: true }),
      ),
      once(giveUp, 'abort').then((): WriterAnswer => ({ kind: 'skipped' })),
    ])
    if (answer.kind !== 'written') {
      const reason = answer.kind === 'failed' ? answer.message : 'the disk does not answer'
      this.#log.warn({ reason }, 'checkpoint of the write-ahead log failed at the stop')
    }
    this.#worker = undefined
    // a thread that hangs in a system call cannot be ended; the process must still be able to exit
    worker.unref()
    await Promise.race([worker.terminate(), once(AbortSignal.timeout(STOP_MS), 'abort')])
  }

  /** Rejects with `WriterDiedError`. */
  perform(request: WriterRequest): Promise<WriterAnswer> {
    const worker = this.#worker ?? this.#spawn()
    return new Promise((resolve, reject) => {
      this.#pending.push({ resolve, reject })
      worker.postMessage(request, request.kind === 'append' ? buffersOf(request.batch) : [])
    })
  }

  #spawn(): Worker {
    const worker = startThread('writer', {
      workerData: { path: this.#path, inode: this.#inode },
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
    })
    this.#worker = worker
    worker.on('message', (report: WriterReport) => this.#take(report))
    worker.on('error', (error) => this.#log.error({ reason: String(error) }, 'the writer thread failed'))
    worker.on('exit', () => {
      if (this.#worker !== worker) return
      this.#worker = undefined
      this.faults.add('THREAD_DIED')
      for (const { reject } of this.#pending.splice(0)) reject(new WriterDiedError('the writer thread ended'))
    })
    return worker
  }

  #take(report: WriterReport): void {
    if (report.faultCode !== null) this.faults.add(report.faultCode)
    if (report.kind === 'damage_found') {
      for (const one of report.found) this.#damage.report({ ...one, foundAtMs: systemClock.nowMs() })
      return
    }
    if (report.kind === 'checkpoint_failed') {
      this.#log.error(
        { reason: report.message },
        'checkpoint of the write-ahead log failed; the log grows until one succeeds',
      )
      return
    }
    if (report.kind === 'saving_failed') {
      this.#log.warn({ reason: report.message }, 'saving device states failed; the log still has them')
      return
    }
    if (report.kind === 'giving_back_failed') {
      this.#log.warn({ reason: report.message }, 'returning free database pages to the file system failed')
      return
    }
    const { answer, tookMs } = report
    const isCommitted = answer.kind === 'appended' || answer.kind === 'written'
    if (isCommitted) this.commitTimes.add(tookMs)
    if (isCommitted || (answer.kind === 'failed' && answer.isStoreFault)) this.#answeredAtMs = performance.now()
    this.#pending.shift()?.resolve(answer)
  }
}
