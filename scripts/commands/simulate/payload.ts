import type { LockAction } from './course/itinerary.ts'
import type { Sample } from './sample.ts'

/** What the gateway takes in one telemetry message. */
export const MAX_BATCH_SAMPLES = 500
export const MAX_PAYLOAD_BYTES = 65_536

const ENVELOPE_BYTES = 80

/** How a device dates and packs what it sends. */
export interface BatchStyle {
  readonly isEnvelope: boolean
  /** False: samples carry `up`, milliseconds since boot, instead of `ts`. */
  readonly hasClock: boolean
  readonly boot: number
  readonly bootedAtMs: number
}

/** A lock event as it goes out on `evt`. */
export interface LockMessage {
  readonly eid: string
  readonly event: LockAction['event']
  readonly source: LockAction['source'] | 'remote'
  readonly code?: string
  /** The command's id, for source remote. */
  readonly cmd?: string
  readonly ts?: number
}

/** One live sample; without a clock it says no time, and the gateway takes the time of receipt. */
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

  /** Takes a sample if there is room for it; false means: `finish` first. */
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

  /** The message of what was added; `nowMs` tells the gateway how old samples dated by uptime are. */
  finish(nowMs: number): string {
    const { isEnvelope, boot, bootedAtMs } = this.#style
    const samples = `[${this.#parts.join(',')}]`
    this.#parts = []
    this.#bytes = 0
    return isEnvelope ? `{"boot":${boot},"up":${nowMs - bootedAtMs},"s":${samples}}` : samples
  }
}
