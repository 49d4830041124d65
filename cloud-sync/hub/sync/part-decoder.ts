import type { Worker } from 'node:worker_threads'
import { AppError, type ErrorMessage, UnavailableError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { startThread } from '#shared/thread.ts'
import type { SyncPart } from '#shared/wire/replication/sync.ts'
import { type CheckedPart, checkPart } from './part-content.ts'

export type DecoderAnswer =
  | ({ readonly kind: 'checked' } & Pick<CheckedPart, 'data' | 'content'>)
  | { readonly kind: 'refused'; readonly error: ErrorMessage }
  | { readonly kind: 'failed'; readonly reason: string }

interface Waiting {
  resolve(answer: DecoderAnswer): void
  reject(error: Error): void
}

const HEAP_MB = 256

/** Checks and decodes parts; telemetry in a thread, started on first use: a few bytes may expand to many records. */
export class PartDecoder implements Pick<Component, 'stop'> {
  readonly #log: Log
  readonly #waiting: Waiting[] = []
  #worker: Worker | undefined

  constructor(log: Log) {
    this.#log = log
  }

  async stop(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
    this.#giveUp()
  }

  /** Checks parts in sequence. Throws the error of the first invalid one, like `checkPart`, or `store_unavailable`. */
  async check(parts: readonly SyncPart[]): Promise<CheckedPart[]> {
    const checked: CheckedPart[] = []
    for (const part of parts) checked.push(isTelemetry(part) ? await this.#inThread(part) : checkPart(part))
    return checked
  }

  async #inThread(part: SyncPart): Promise<CheckedPart> {
    const answer = await new Promise<DecoderAnswer>((resolve, reject) => {
      this.#worker ??= this.#spawn()
      this.#waiting.push({ resolve, reject })
      this.#worker.postMessage(part)
    })
    if (answer.kind === 'checked') return { part, data: answer.data, content: answer.content }
    if (answer.kind === 'failed') throw new Error(`a part cannot be decoded: ${answer.reason}`)
    const { kind, code, message } = answer.error
    throw new AppError(kind, code, message)
  }

  #spawn(): Worker {
    const worker = startThread('part-decoder', { resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } })
    worker.on('message', (answer: DecoderAnswer) => this.#waiting.shift()?.resolve(answer))
    worker.on('error', (error) => this.#log.error({ reason: String(error) }, 'the decoder thread failed'))
    worker.on('exit', () => {
      if (this.#worker !== worker) return
      this.#worker = undefined
      this.#giveUp()
    })
    return worker
  }

  #giveUp(): void {
    for (const { reject } of this.#waiting.splice(0))
      reject(new UnavailableError('the part could not be decoded; try again'))
  }
}

function isTelemetry({ stream }: SyncPart): boolean {
  return stream === 'telemetry' || stream === 'history'
}
