import type { Log } from '#shared/log.ts'

const KEPT = 512
const SLOW_MS = 1_000
/** Total duration of consecutive slow commits from which they are logged. */
const SLOW_FOR_MS = 10_000

/** Durations of the last commits; logs when the disk is slow for some time. */
export class CommitTimes {
  readonly #log: Log
  readonly #tookMs: number[] = []
  #next = 0
  #slowForMs = 0

  constructor(log: Log) {
    this.#log = log
  }

  add(tookMs: number): void {
    this.#tookMs[this.#next] = tookMs
    this.#next = (this.#next + 1) % KEPT
    const wasSlow = this.#slowForMs >= SLOW_FOR_MS
    this.#slowForMs = tookMs > SLOW_MS ? this.#slowForMs + tookMs : 0
    const isSlow = this.#slowForMs >= SLOW_FOR_MS
    if (isSlow && !wasSlow) this.#log.warn({ commitMs: Math.round(tookMs) }, 'disk commits are slow')
    if (wasSlow && !isSlow) this.#log.info({ commitMs: Math.round(tookMs) }, 'disk commits are fast again')
  }

  /** 99th percentile of the last 512 commits in seconds; 0 before the first. */
  p99S(): number {
    const sorted = this.#tookMs.toSorted((a, b) => a - b)
    return (sorted[Math.floor(sorted.length * 0.99)] ?? 0) / 1000
  }
}
