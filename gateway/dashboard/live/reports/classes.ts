/** Shares of all cells at which the next class begins. */
const SHARES = [0.5, 0.75, 0.9, 0.97]
/** Round class limits in minutes. */
const ROUND_MIN = [0.5, 1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 360, 600, 900, 1200, 1800, 3600]

/** Returns the lower limits of the classes in seconds, ascending; at most four. */
export function classesOf(seconds: readonly number[]): number[] {
  const ascending = seconds.toSorted((a, b) => a - b)
  const steps = SHARES.map((share) => ascending[Math.floor(share * ascending.length)] ?? 0)
  const rounded = steps.map((step) => (ROUND_MIN.findLast((minutes) => minutes * 60 <= step) ?? 0) * 60)
  return [...new Set(rounded)].filter((step) => step > 0)
}

/** Returns the class of a cell, from 0. */
export function classOf(seconds: number, classes: readonly number[]): number {
  return classes.filter((least) => seconds >= least).length
}
