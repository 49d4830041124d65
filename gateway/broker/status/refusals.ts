import { Counter } from '#shared/counter.ts'
import type { Log } from '#shared/log.ts'
import { LIMIT_REFUSALS } from '../limits.ts'

const WINDOW_MS = 10_000
const LINES_A_WINDOW = 20

/** Returns the first 128 characters of a client's text for a log line. */
export function printable(text: string | null): string {
  return (text ?? '').slice(0, 128)
}

interface RefusedFields {
  address: string
  clientId?: string | undefined
  topic?: string
  /** Advice for the reader of the log. */
  advice?: string
  /** Code of the underlying error. */
  cause?: string
}

/** Counts refusals by reason and logs them without secrets: the first in full, of a flood only the number. */
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
