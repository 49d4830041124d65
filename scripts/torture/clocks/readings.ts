/** A reading that the gateway acknowledged. Its voltage tells it from all others of its device. */
export interface SentReading {
  hardwareId: string
  voltageMv: number
  /** When it was measured, in truth. */
  trueMs: number
  /** The time it was sent with and is stored at; null if the gateway dated it. */
  saidMs: number | null
  /** What time it was by the gateway when it was sent. */
  gatewayMs: number
}

/** How old readings may be, in truth, before they may be gone, in milliseconds. */
export interface Kept {
  byRetentionMs: number
  /** Times (in truth) of purges, and how old a reading had to be. */
  purges: readonly { atMs: number; olderThanMs: number }[]
}

/** A confirmed time may be so much later than it is: an admin looks at a clock that is nearly right. */
const CONFIRMED_WITHIN_MS = 10 * 60_000

/** Whether a reading may be gone because of its age at `nowMs`; both in truth. */
export function mayBeGone(reading: SentReading, nowMs: number, { byRetentionMs, purges }: Kept): boolean {
  // one that the gateway had to date is as old as the gateway's time then says
  const atMs = reading.saidMs === null ? Math.min(reading.trueMs, reading.gatewayMs) : reading.saidMs
  const isOld = (whenMs: number, keptMs: number) => atMs < whenMs - keptMs + CONFIRMED_WITHIN_MS
  return isOld(nowMs, byRetentionMs) || purges.some((purge) => isOld(purge.atMs, purge.olderThanMs))
}
