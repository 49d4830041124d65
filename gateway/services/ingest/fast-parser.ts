import { WRONG_MS } from '#domain/device-clock.ts'
import { isPlausibleTime } from '#domain/event-time.ts'
import { emptySample, isJsonObject, readSampleInto, type Sample } from '#domain/telemetry.ts'

/** Reads messages that say one plain thing, leaving next to nothing to be collected: its objects are used again. */
export class FastParser {
  /** What was read last; its `values` are the reader's caller's. */
  readonly sample: Sample = emptySample(0)
  #isWhole = true

  /**
   * Reads the payload that lies there into `sample`, whose `values` keep what else is in them. Returns how many values
   * there are; 0, and `values` may have been touched, unless it is one object with a recent time of its own, all of
   * which can be used.
   */
  read(bytes: Buffer, from: number, to: number, receivedAtMs: number, latestMs: number): number {
    const text = bytes.toString('utf8', from, to)
    // stands in the place of bytes that are no UTF-8, and may be meant: the slow way finds out
    if (text.includes('\uFFFD')) return 0
    const raw = parseOrNull(text)
    if (!isJsonObject(raw) || Array.isArray(raw.s)) return 0
    const { ts } = raw
    // one that is further off may be of a wrong clock: the slow way finds out
    if (!isPlausibleTime(ts, latestMs) || Math.abs(ts - receivedAtMs) > WRONG_MS) return 0
    this.#isWhole = true
    const { sample } = this
    sample.atMs = Math.round(ts)
    sample.lat = sample.long = sample.speedKmh = sample.voltageV = Number.NaN
    const count = readSampleInto(sample, raw, this.#onDrop)
    return this.#isWhole ? count : 0
  }

  readonly #onDrop = (): void => {
    this.#isWhole = false
  }
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
