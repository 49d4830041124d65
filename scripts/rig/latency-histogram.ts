/** Buckets per power of two: a value is known to within one part in this many. */
const BUCKETS_PER_OCTAVE = 128
const OCTAVE_BITS = 7
const MAX_US = 2 ** 31 - 1
const BUCKET_COUNT = (31 - OCTAVE_BITS + 1) * BUCKETS_PER_OCTAVE

/**
 * Counts latencies in logarithmic buckets: constant memory, no allocation per value.
 * Values are whole microseconds from 0 to 35 minutes; longer ones count as 35 minutes.
 */
export class LatencyHistogram {
  readonly #counts = new Float64Array(BUCKET_COUNT)
  #count = 0
  #maxUs = 0

  record(latencyUs: number): void {
    const us = Math.min(Math.max(Math.round(latencyUs), 0), MAX_US)
    const bucket = bucketOf(us)
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#count++
    if (us > this.#maxUs) this.#maxUs = us
  }

  reset(): void {
    this.#counts.fill(0)
    this.#count = 0
    this.#maxUs = 0
  }

  /**
   * The value that `percent` of all values do not exceed (nearest rank), in microseconds.
   * At most a bucket above the exact one, never below it.
   */
  percentileUs(percent: number): number {
    const rank = Math.max(1, Math.ceil((percent / 100) * this.#count))
    let seen = 0
    for (let bucket = 0; bucket < BUCKET_COUNT; bucket++) {
      seen += this.#counts[bucket] ?? 0
      if (seen >= rank) return Math.min(upperEdge(bucket), this.#maxUs)
    }
    return this.#maxUs
  }
}

function bucketOf(us: number): number {
  if (us < BUCKETS_PER_OCTAVE) return us
  const shift = 31 - Math.clz32(us) - OCTAVE_BITS
  return (shift + 1) * BUCKETS_PER_OCTAVE + (us >>> shift) - BUCKETS_PER_OCTAVE
}

function upperEdge(bucket: number): number {
  if (bucket < BUCKETS_PER_OCTAVE) return bucket
  const shift = Math.floor(bucket / BUCKETS_PER_OCTAVE) - 1
  const lowest = ((bucket % BUCKETS_PER_OCTAVE) + BUCKETS_PER_OCTAVE) * 2 ** shift
  return lowest + 2 ** shift - 1
}
