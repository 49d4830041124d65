import { WRONG_MS } from '#domain/device-clock.ts'
import { isPlausibleTime } from '#domain/event-time.ts'
import { isJsonObject, parseSample, type Sample } from '#domain/telemetry.ts'

/** Parses messages with a single plain reading. */
export class FastParser {
  #isWhole = true

  /**
   * Parses this payload. Returns undefined unless it is one object with a recent own timestamp and only usable values,
   * at least one.
   */
  read(bytes: Buffer, from: number, to: number, receivedAtMs: number, latestMs: number): Sample | undefined {
    const text = bytes.toString('utf8', from, to)
    // replaces bytes that are not UTF-8, but may also be sent: `MessageParser` decides
    if (text.includes('\uFFFD')) return undefined
    const raw = parseOrNull(text)
    if (!isJsonObject(raw) || Array.isArray(raw.s)) return undefined
    const { ts } = raw
    // a larger difference may come from a wrong clock: `MessageParser` decides
    if (!isPlausibleTime(ts, latestMs) || Math.abs(ts - receivedAtMs) > WRONG_MS) return undefined
    this.#isWhole = true
    const sample = parseSample(raw, Math.round(ts), this.#onDrop)
    return this.#isWhole ? sample : undefined
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
