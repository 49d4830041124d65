import { type BatchStyle, BatchWriter, encodeSample } from './payload.ts'
import type { Sample } from './sample.ts'

const DEFAULT_CAPACITY = 20_000

/** Samples not sent yet, oldest first: a single one as it is, several as batches. When full, it drops the oldest. */
export class Outbox {
  readonly #style: () => BatchStyle
  readonly #capacity: number
  #waiting: Sample[] = []

  /** `style` is called before every batch: devices use arrays and envelopes, and a reboot changes the envelope. */
  constructor(style: () => BatchStyle, capacity: number = DEFAULT_CAPACITY) {
    this.#style = style
    this.#capacity = capacity
  }

  get size(): number {
    return this.#waiting.length
  }

  add(sample: Sample): void {
    this.#waiting.push(sample)
    if (this.#waiting.length <= this.#capacity) return
    // a whole part in one go: single removals would move the array for every new sample
    this.#waiting.splice(0, Math.ceil(this.#capacity / 20))
  }

  /** Removes and encodes the samples of the next message; undefined if none wait. */
  take(nowMs: number): string | undefined {
    const [first] = this.#waiting
    if (first === undefined) return undefined
    const style = this.#style()
    // without a clock only a fresh sample may be sent alone: the gateway dates it by its arrival
    if (this.#waiting.length === 1 && (style.hasClock || nowMs - first.atMs < 1000)) {
      this.#waiting = []
      return encodeSample(first, style.hasClock)
    }
    const writer = new BatchWriter(style.hasClock ? style : { ...style, isEnvelope: true })
    for (const sample of this.#waiting) if (!writer.add(sample)) break
    this.#waiting = this.#waiting.slice(writer.size)
    return writer.finish(nowMs)
  }
}
