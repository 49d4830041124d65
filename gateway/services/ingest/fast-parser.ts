import { WRONG_MS } from '#domain/device-clock.ts'
import { isPlausibleTime } from '#domain/event-time.ts'
import { emptySample, isJsonObject, readSampleInto, type Sample } from '#domain/telemetry.ts'

/** Parses messages with a single plain reading almost without garbage: its objects are reused. */
export class FastParser {
  /** Last parsed sample; the caller supplies its `values`. */
  readonly sample: Sample = emptySample(0)
  #isWhole = true

  /**
   * Parses this payload into `sample`; existing keys of `values` stay. Returns the number of values; 0, possibly after
   * changing `values`, unless the payload is one object with a recent own timestamp and only usable values.
   */
  read(bytes: Buffer, from: number, to: number, receivedAtMs: number, latestMs: number): number {
    const text = bytes.toString('utf8', from, to)
    // replaces bytes that are not UTF-8, but may also be sent: `MessageParser` decides
    if (text.includes('\uFFFD')) return 0
    const raw = parseOrNull(text)
    if (!isJsonObject(raw) || Array.isArray(raw.s)) return 0
    const { ts } = raw
    // a larger difference may come from a wrong clock: `MessageParser` decides
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
