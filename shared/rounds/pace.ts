import { MINUTE_MS } from '#shared/time.ts'
import type { HoleStay, Round } from './round.ts'

/** Returns the hole being played; null if the cart is on none. */
export function currentHole({ holes }: Pick<Round, 'holes'>): HoleStay | null {
  return holes.find(({ leftMs }) => leftMs === null) ?? null
}

/** Number of holes that have been left. */
function holesLeft({ holes }: Pick<Round, 'holes'>): number {
  return holes.filter(({ leftMs }) => leftMs !== null).length
}

/**
 * Minutes since the first hole was entered, less `minutesPerHole` for each hole that was left; negative for a round
 * that is ahead. Null if the cart is on no hole now. Source: rulings R38 and R68 of the contract for staff.
 */
export function minutesBehind(round: Pick<Round, 'holes'>, minutesPerHole: number, nowMs: number): number | null {
  const [first] = round.holes
  if (first === undefined || currentHole(round) === null) return null
  return (nowMs - first.enteredMs) / MINUTE_MS - minutesPerHole * holesLeft(round)
}
