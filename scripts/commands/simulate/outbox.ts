import { type BatchStyle, BatchWriter, encodeSample } from './payload.ts'
import type { Sample } from './sample.ts'

const DEFAULT_CAPACITY = 20_000

/**
 * The samples a device could not send yet. One alone goes out as it is, several as batches, oldest first.
 * When it is full the oldest are lost, as on a real device.
 */
export class Outbox {
  readonly #style: () => BatchStyle
  readonly #capacity: number
  #waiting: Sample[] = []

  /** `style` is asked before every batch: devices use arrays and envelopes, and a reboot changes the envelope. */
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
    // a whole part at once: one by one would move the array for every new sample
    this.#waiting.splice(0, Math.ceil(this.#capacity / 20))
  }

  /** Removes and encodes what goes into the next message; undefined when nothing waits. */
  take(nowMs: number): string | undefined {
    const [first] = this.#waiting
    if (first === undefined) return undefined
    const style = this.#style()
    // without a clock only a fresh sample may go alone: the gateway dates it by its arrival
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
