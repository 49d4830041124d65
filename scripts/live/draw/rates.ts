export const MINUTE_MS = 60_000
export const DAY_MS = 86_400_000

/** A whole number with the mean `rate`. */
export function countOf(rate: number, chance: number): number {
  return Math.floor(rate) + (chance < rate % 1 ? 1 : 0)
}
