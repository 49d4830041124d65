import type { MonotonicClock } from '#shared/time.ts'
import { SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import type { SyncStream } from '#shared/wire/replication/sync.ts'

const BUCKET_MS = 10_000
const BUCKETS = 18

/** Number of rows that the hub has acknowledged, in total and recently, and time of the last move of each stream. */
export class Progress {
  readonly #clock: MonotonicClock
  readonly #rows = new Map<SyncStream, number>()
  readonly #movedAtMs = new Map<SyncStream, number>()
  #recent: { bucket: number; rows: number }[] = []

  constructor(clock: MonotonicClock) {
    this.#clock = clock
  }

  add(stream: SyncStream, rows: number): void {
    this.#rows.set(stream, this.rowsOf(stream) + rows)
    this.moved(stream)
    const bucket = Math.floor(this.#clock.monotonicMs() / BUCKET_MS)
    const last = this.#recent.at(-1)
    if (last?.bucket === bucket) last.rows += rows
    else this.#recent = [...this.#recent, { bucket, rows }].slice(-BUCKETS)
  }

  /** Records that nothing blocks the stream. */
  moved(stream: SyncStream): void {
    this.#movedAtMs.set(stream, this.#clock.monotonicMs())
  }

  rowsOf(stream: SyncStream): number {
    return this.#rows.get(stream) ?? 0
  }

  get rows(): number {
    return SYNC_STREAMS.reduce((sum, stream) => sum + this.rowsOf(stream), 0)
  }

  /** Milliseconds since the stream last moved, or since the start. */
  stillMs(stream: SyncStream): number {
    const nowMs = this.#clock.monotonicMs()
    const sinceMs = this.#movedAtMs.get(stream)
    if (sinceMs === undefined) {
      this.#movedAtMs.set(stream, nowMs)
      return 0
    }
    return nowMs - sinceMs
  }

  /** Rows per second over the last three minutes, or over a shorter time if rows have moved only since then. */
  get rowsPerSecond(): number {
    const nowMs = this.#clock.monotonicMs()
    const newest = Math.floor(nowMs / BUCKET_MS)
    const recent = this.#recent.filter(({ bucket }) => bucket > newest - BUCKETS)
    const [first] = recent
    if (first === undefined) return 0
    const ms = Math.max(nowMs - first.bucket * BUCKET_MS, 1_000)
    return (recent.reduce((sum, { rows }) => sum + rows, 0) * 1000) / ms
  }
}
