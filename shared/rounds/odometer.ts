import { distanceM } from '#shared/zones/geometry.ts'
import type { Fix } from '#shared/zones/watch.ts'

/** A receiver at rest wanders less: what is nearer to the place counted last is no way. */
const STEP_M = 10
/** Metres in 1e-7 degree, of latitude or longitude, nowhere more. */
const LONGEST_E7_M = 0.01118
/** 72 km/h: no cart gets there, so one of the two fixes is wrong. */
const FASTEST_MPS = 20

/** The way of a cart so far: JSON. */
export interface Mileage {
  readonly totalM: number
  /** The place up to which it is counted. */
  readonly from: Fix
  /** Event time of the last fix. */
  readonly lastMs: number
  /** Whether the last fix was too far away to be true. */
  readonly isDoubted: boolean
}

/** Whether a place is certainly so near to the one counted last that it is no way. */
export function isNoWay({ from }: Mileage, latE7: number, longE7: number): boolean {
  return (Math.abs(latE7 - from.latE7) + Math.abs(longE7 - from.longE7)) * LONGEST_E7_M < STEP_M
}

/** Goes on to the next fix. A single fix far away is left out; from the second on the way is counted from there. */
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
