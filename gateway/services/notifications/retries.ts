const FIRST_MS = 1_000
const LONGEST_MS = 600_000
/** So much more or less, so that what failed together is not tried together. */
const JITTER = 0.2

/** How long to wait after that many failures in a row: 1, 2, 4 … 600 s, a little more or less. `random` is from 0 to 1. */
export function retryMs(failures: number, random: number): number {
  const ms = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures - 1, 20))
  return Math.round(ms * (1 - JITTER + 2 * JITTER * random))
}
