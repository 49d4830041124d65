import { type GpsRecords, NO_SPEED } from './records.ts'

/** Precision of a track for a replay of the whole course. */
export interface SimplifyOptions {
  /** Minimum interval between two kept fixes. */
  stepMs: number
  /** Interval at which fixes of a standing cart are kept, to show that it was online. */
  standingMs: number
  /** Minimum speed of driving. */
  movingMilliKmh: number
}

/** Jitter of a receiver at rest, in 1e-7 degree of latitude: three metres. */
const STANDING_E7 = 270

/** Ascending indices of the fixes to keep, including first and last, the last before a gap, and starts and stops. */
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
