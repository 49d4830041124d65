/** Pauses between attempts after a failure: the first, the factor from each to the next, and the longest. */
const REFUSED = { firstMs: 1_000, factor: 2, longestMs: 600_000 }
/** Pauses if the message may have been delivered: at most six copies a day. */
const UNKNOWN = { firstMs: 60_000, factor: 4, longestMs: 21_600_000 }
/** Random share added or subtracted, so that attempts that failed together are not retried together. */
const JITTER = 0.2

/**
 * Returns the pause after this number of consecutive failures, with jitter: 1, 2, 4 … 600 s, or, if the last attempt
 * may have been delivered, 1, 4, 16 … 360 minutes. `random` is between 0 and 1.
 */
export function retryMs(failures: number, random: number, mayBeDelivered = false): number {
  const { firstMs, factor, longestMs } = mayBeDelivered ? UNKNOWN : REFUSED
  const ms = Math.min(longestMs, firstMs * factor ** Math.min(failures - 1, 20))
  return Math.round(ms * (1 - JITTER + 2 * JITTER * random))
}

/** Attempt that ended without a response after everything was sent: the receiver may have it. */
export class UnknownOutcome extends Error {
  constructor(reason: string) {
    super(`${reason}; it may have been delivered`)
  }
}
