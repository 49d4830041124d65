/** Pauses between attempts: the first, what each is longer by than the one before, and the longest. */
const REFUSED = { firstMs: 1_000, factor: 2, longestMs: 600_000 }
/** Six copies a day at most, where each attempt was delivered. */
const UNKNOWN = { firstMs: 60_000, factor: 4, longestMs: 21_600_000 }
/** So much more or less, so that what failed together is not tried together. */
const JITTER = 0.2

/**
 * How long to wait after that many failures in a row, a little more or less: 1, 2, 4 … 600 s, or, where the last
 * attempt may have been delivered, 1, 4, 16 … 360 minutes. `random` is from 0 to 1.
 */
export function retryMs(failures: number, random: number, mayBeDelivered = false): number {
  const { firstMs, factor, longestMs } = mayBeDelivered ? UNKNOWN : REFUSED
  const ms = Math.min(longestMs, firstMs * factor ** Math.min(failures - 1, 20))
  return Math.round(ms * (1 - JITTER + 2 * JITTER * random))
}

/** An attempt that ended without an answer after all of it had been sent: the receiver may have it. */
export class UnknownOutcome extends Error {
  constructor(reason: string) {
    super(`${reason}; it may have been delivered`)
  }
}
