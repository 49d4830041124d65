import { STALE_LOCK_MS } from '#shared/carts/cart-state.ts'
import { mergeRecords } from '#shared/telemetry/merge.ts'
import { GPS, type GpsRecords, type RecordKind, type Records } from '#shared/telemetry/records.ts'

/**
 * Combines the fixes of a cart's devices as the cart rules do: those of the lock, and those of the others while the
 * lock has been behind for too long. Intervals must be passed in chronological order.
 */
export class CartFixes {
  #lockMs = Number.NEGATIVE_INFINITY

  /** Returns the fixes of one interval; 0,0 is not a position. */
  merge(locks: readonly GpsRecords[], others: readonly GpsRecords[]): GpsRecords {
    const lock = withPlaces(merged(GPS, locks))
    const other = withPlaces(merged(GPS, others))
    const counting = keep(other, this.#countingAlongside(lock.atMs, other.atMs))
    this.#lockMs = lock.atMs.at(-1) ?? this.#lockMs
    return counting.atMs.length === 0 ? lock : mergeRecords(GPS, lock, counting)
  }

  #countingAlongside(lockMs: Float64Array, otherMs: Float64Array): number[] {
    const counting: number[] = []
    let newestMs = this.#lockMs
    let next = 0
    for (let i = 0; i < otherMs.length; i++) {
      const atMs = otherMs[i] ?? 0
      for (; next < lockMs.length && (lockMs[next] ?? 0) <= atMs; next++) newestMs = lockMs[next] ?? 0
      if (atMs - newestMs > STALE_LOCK_MS) counting.push(i)
    }
    return counting
  }
}

export function merged<R extends Records>(kind: RecordKind<R>, devices: readonly R[]): R {
  const [first = kind.allocate(0), ...others] = devices
  return others.reduce((all, one) => mergeRecords(kind, all, one), first)
}

/** Removes fixes at 0,0, which a receiver without reception reports. */
function withPlaces(fixes: GpsRecords): GpsRecords {
  const { latE7, longE7 } = fixes
  // fast path: nearly all intervals have none
  if (!latE7.includes(0) || !longE7.includes(0)) return fixes
  const placed: number[] = []
  for (let i = 0; i < latE7.length; i++) if (latE7[i] !== 0 || longE7[i] !== 0) placed.push(i)
  return keep(fixes, placed)
}

/** Keeps the fixes at these indices of the columns. */
function keep(fixes: GpsRecords, places: readonly number[]): GpsRecords {
  if (places.length === fixes.atMs.length) return fixes
  const kept = GPS.allocate(places.length)
  const [from, into] = [
    [fixes.atMs, ...GPS.columnsOf(fixes)],
    [kept.atMs, ...GPS.columnsOf(kept)],
  ]
  for (const [c, column] of into.entries()) for (const [i, place] of places.entries()) column[i] = from[c]?.[place] ?? 0
  return kept
}
