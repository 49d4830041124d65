import type { LockAction } from './course/itinerary.ts'
import type { Sample } from './sample.ts'

/** Maximum number of samples that the gateway accepts in one telemetry message. */
export const MAX_BATCH_SAMPLES = 500
export const MAX_PAYLOAD_BYTES = 65_536

const ENVELOPE_BYTES = 80

/** Format of times and batches that a device sends. */
export interface BatchStyle {
  readonly isEnvelope: boolean
  /** False: samples carry `up`, milliseconds since boot, instead of `ts`. */
  readonly hasClock: boolean
  readonly boot: number
  readonly bootedAtMs: number
}

/** Lock event as published on `evt`. */
export interface LockMessage {
  readonly eid: string
  readonly event: LockAction['event']
  readonly source: LockAction['source'] | 'remote'
  readonly code?: string
  /** Id of the command, for source remote. */
  readonly cmd?: string
  readonly ts?: number
}

/** Encodes one live sample; without a clock it has no time, and the gateway uses the time of receipt. */
export function encodeSample(sample: Sample, hasClock: boolean): string {
  return JSON.stringify(hasClock ? { ts: sample.atMs, ...sample.fields } : sample.fields)
}

/** Collects samples into telemetry messages of at most 500 samples and 64 KiB, in the order they were added. */
export class BatchWriter {
  readonly #style: BatchStyle
  #parts: string[] = []
  #bytes = 0

  constructor(style: BatchStyle) {
    this.#style = style
  }

  get size(): number {
    return this.#parts.length
  }

  /** Adds a sample if there is room for it; false requires a call of `finish` first. */
  add(sample: Sample): boolean {
    const { hasClock, bootedAtMs } = this.#style
    const time = hasClock ? { ts: sample.atMs } : { up: sample.atMs - bootedAtMs }
    const part = JSON.stringify({ ...time, ...sample.fields })
    const bytes = Buffer.byteLength(part) + 1
    if (this.#parts.length >= MAX_BATCH_SAMPLES || this.#bytes + bytes + ENVELOPE_BYTES > MAX_PAYLOAD_BYTES)
      return false
    this.#parts.push(part)
    this.#bytes += bytes
    return true
  }

  /** Returns the message with the added samples; by `nowMs` the gateway computes the age of those dated by uptime. */
  finish(nowMs: number): string {
    const { isEnvelope, boot, bootedAtMs } = this.#style
    const samples = `[${this.#parts.join(',')}]`
    this.#parts = []
    this.#bytes = 0
    return isEnvelope ? `{"boot":${boot},"up":${nowMs - bootedAtMs},"s":${samples}}` : samples
  }
}
