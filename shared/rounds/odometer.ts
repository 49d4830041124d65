import { distanceM } from '#shared/zones/geometry.ts'
import type { Fix } from '#shared/zones/watch.ts'

/** Minimum distance from the last counted position; it exceeds the jitter of a receiver at rest. */
const STEP_M = 10
/** Upper bound of metres per 1e-7 degree of latitude or longitude. */
const LONGEST_E7_M = 0.01118
/** 72 km/h: no cart reaches this, so one of the two fixes is wrong. */
const FASTEST_MPS = 20

/** Distance driven so far: JSON. */
export interface Mileage {
  readonly totalM: number
  /** Last counted position. */
  readonly from: Fix
  /** Event time of the last fix. */
  readonly lastMs: number
  /** True if the last fix was implausibly far away. */
  readonly isDoubted: boolean
}

/** True if the position is certainly too close to the last counted one to add distance. */
export function isNoWay({ from }: Mileage, latE7: number, longE7: number): boolean {
  return (Math.abs(latE7 - from.latE7) + Math.abs(longE7 - from.longE7)) * LONGEST_E7_M < STEP_M
}

/** Adds the next fix. A single fix far away is ignored; from the second on, distance is counted from there. */
export function addFix(known: Mileage | null, fix: Fix): Mileage {
  if (known === null) return { totalM: 0, from: fix, lastMs: fix.atMs, isDoubted: false }
  const { totalM, from, lastMs, isDoubted } = known
  const wayM = distanceM(from, fix)
  if (wayM < STEP_M) return { totalM, from, lastMs: fix.atMs, isDoubted: false }
  const isPossible = wayM <= (FASTEST_MPS * (fix.atMs - lastMs)) / 1000
  if (isPossible) return { totalM: totalM + wayM, from: fix, lastMs: fix.atMs, isDoubted: false }
  return isDoubted
    ? { totalM, from: fix, lastMs: fix.atMs, isDoubted: false }
    : { totalM, from, lastMs: fix.atMs, isDoubted: true }
}
