import { type GpsRecords, NO_SPEED } from './records.ts'

/** What of a track an eye can see, that watches a whole course go by. */
export interface SimplifyOptions {
  /** Nearer in time to the last that was kept nothing is. */
  stepMs: number
  /** One that stands is kept so often: it was heard of. */
  standingMs: number
  /** From this speed on it drives. */
  movingMilliKmh: number
}

/** A receiver at rest wanders this far, 1e-7 degree of latitude: three metres. */
const STANDING_E7 = 270

/**
 * The indices of the fixes that stay, ascending. The first and the last do, so does the last before a silence, and the
 * one with which a cart starts or stops.
 */
export function simplifyTrack(
  { atMs, latE7, longE7, speedMilliKmh }: GpsRecords,
  count: number,
  { stepMs, standingMs, movingMilliKmh }: SimplifyOptions,
): number[] {
  const kept: number[] = []
  const isMoving = (i: number) => (speedMilliKmh[i] ?? NO_SPEED) >= movingMilliKmh
  for (let i = 0, last = -1; i < count; i++) {
    const now = atMs[i] ?? 0
    const sinceMs = last < 0 ? Number.POSITIVE_INFINITY : now - (atMs[last] ?? 0)
    const isBeforeSilence = i + 1 === count || (atMs[i + 1] ?? 0) - now > standingMs
    const hasMoved =
      Math.abs((latE7[i] ?? 0) - (latE7[last] ?? 0)) > STANDING_E7 ||
      Math.abs((longE7[i] ?? 0) - (longE7[last] ?? 0)) > STANDING_E7
    const isNews = isMoving(i) !== isMoving(last)
    const isDue = sinceMs >= standingMs || (sinceMs >= stepMs && (hasMoved || isMoving(i)))
    if (!isBeforeSilence && !isNews && !isDue) continue
    kept.push(i)
    last = i
  }
  return kept
}
