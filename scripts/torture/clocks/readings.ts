/** Reading that the gateway acknowledged. Its voltage distinguishes it from all others of its device. */
export interface SentReading {
  hardwareId: string
  voltageMv: number
  /** True time of the measurement. */
  trueMs: number
  /** Time it was sent with and is stored at; null if the gateway dated it. */
  timestampMs: number | null
  /** Gateway's time when it was sent. */
  gatewayMs: number
}

/** True age in milliseconds from which readings may be deleted. */
export interface Kept {
  byRetentionMs: number
  /** True times of purges, and the age from which they deleted. */
  purges: readonly { atMs: number; olderThanMs: number }[]
}

/** Largest error of a confirmed time: an admin reads a clock that is nearly right. */
const CONFIRMED_WITHIN_MS = 10 * 60_000

/** True if a reading may have been deleted because of its age at `nowMs`; both are true times. */
export function mayBeGone(reading: SentReading, nowMs: number, { byRetentionMs, purges }: Kept): boolean {
  // a reading that the gateway dated has the age that results from the gateway's time
  const atMs = reading.timestampMs === null ? Math.min(reading.trueMs, reading.gatewayMs) : reading.timestampMs
  const isOld = (whenMs: number, keptMs: number) => atMs < whenMs - keptMs + CONFIRMED_WITHIN_MS
  return isOld(nowMs, byRetentionMs) || purges.some((purge) => isOld(purge.atMs, purge.olderThanMs))
}
