import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Part } from '../../shared/lifecycle.ts'
import type { Log } from '../../shared/log.ts'
import type { WriterAnswer, WriterRequest } from './writer-messages.ts'

/** The writer thread died with a request in hand; whether that request was committed is not known. */
class WriterDiedError extends Error {}

interface Pending {
  resolve: (answer: WriterAnswer) => void
  reject: (error: Error) => void
}

/** Runs the writer thread, which answers in order. A thread that dies is started again for the next request. */
export class Writer implements Part {
  readonly #path: string
  readonly #log: Log
  #worker: Worker | undefined
  #pending: Pending[] = []

  constructor(path: string, log: Log) {
    this.#path = path
    this.#log = log
  }

  async start(): Promise<void> {
    const worker = this.#spawn()
    await once(worker, 'online')
  }

  /** Checkpoints the log into the database and ends the thread. */
  async stop(): Promise<void> {
    const worker = this.#worker
    if (worker === undefined) return
    await this.perform({ kind: 'checkpoint' }).catch((error: Error) =>
      this.#log.warn({ reason: error.message }, 'checkpoint failed'),
    )
    this.#worker = undefined
    await worker.terminate()
  }

  /** Rejects with `WriterDiedError`. */
  perform(request: WriterRequest): Promise<WriterAnswer> {
    const worker = this.#worker ?? this.#spawn()
    return new Promise((resolve, reject) => {
      this.#pending.push({ resolve, reject })
      worker.postMessage(
        request,
        request.kind === 'append' ? [request.batch.samples.buffer as ArrayBuffer] : [],
      )
    })
  }

  #spawn(): Worker {
    const worker = new Worker(new URL('./writer-worker.ts', import.meta.url), {
      workerData: { path: this.#path },
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
    })
    this.#worker = worker
    worker.on('message', (answer: WriterAnswer) => {
      this.#pending.shift()?.resolve(answer)
    })
    worker.on('error', (error) => this.#log.error({ reason: String(error) }, 'writer thread failed'))
    worker.on('exit', () => {
      if (this.#worker !== worker) return
      this.#worker = undefined
      for (const { reject } of this.#pending.splice(0)) reject(new WriterDiedError('the writer thread ended'))
    })
    return worker
  }
}
