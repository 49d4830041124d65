import { Counter } from '#shared/counter.ts'
import type { Log } from '#shared/log.ts'
import { LIMIT_REFUSALS } from '../limits.ts'

const WINDOW_MS = 10_000
const LINES_A_WINDOW = 20

/** As much of what a client says as a line of the log may hold. */
export function printable(text: string | null): string {
  return (text ?? '').slice(0, 128)
}

interface RefusedFields {
  address: string
  clientId?: string | undefined
  topic?: string
  /** What whoever reads the log can do about it. */
  advice?: string
  /** The code of the error behind it. */
  cause?: string
}

/**
 * Counts what the broker refused, by reason, and logs it without secrets: all of a few, and of a flood only how many
 * more there were.
 */
export class Refusals {
  readonly counts = new Counter(LIMIT_REFUSALS)
  readonly #log: Log
  #windowEndsAtMs = 0
  #lines = 0
  #suppressed = 0

  constructor(log: Log) {
    this.#log = log
  }

  add(reason: string, fields: RefusedFields): void {
    this.counts.add(reason)
    const nowMs = performance.now()
    if (nowMs >= this.#windowEndsAtMs) {
      if (this.#suppressed > 0)
        this.#log.warn({ count: this.#suppressed }, 'refused more MQTT clients or messages than were logged')
      this.#windowEndsAtMs = nowMs + WINDOW_MS
      this.#lines = 0
      this.#suppressed = 0
    }
    if (this.#lines < LINES_A_WINDOW)
      this.#log.warn({ refused: reason, ...fields }, 'refused an MQTT client or message')
    else this.#suppressed++
    this.#lines++
  }
}
