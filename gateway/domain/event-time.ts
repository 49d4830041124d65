import { hasZone, MINUTE_MS, parseIso } from '#shared/time.ts'

/** No clock that was ever set shows less: there was no gateway before. */
export const EARLIEST_MS = Date.UTC(2020, 0, 1)

/** No clock that was ever set shows more. */
export const LATEST_MS = Date.UTC(2100, 0, 1)

/** How far two clocks that are both right may be apart. */
export const MAX_AHEAD_MS = 5 * MINUTE_MS

/**
 * Until when a device's time can be believed: 5 minutes ahead of ours. While our own clock is not to be trusted it
 * is no judge of the device's, which may come from a satellite.
 */
export function latestEventMs(nowMs: number, isClockTrusted: boolean): number {
  return isClockTrusted ? nowMs + MAX_AHEAD_MS : LATEST_MS
}

/** A `ts` as a device sent it: milliseconds since 1970, also of an ISO 8601 text with a zone; all else as it is. */
export function sentTime(ts: unknown): unknown {
  return typeof ts === 'string' && hasZone(ts) ? parseIso(ts) : ts
}

/** Whether a device's time can be believed: not before 2020, not after `latestMs`. */
export function isPlausibleTime(atMs: unknown, latestMs: number): atMs is number {
  return typeof atMs === 'number' && atMs >= EARLIEST_MS && atMs <= latestMs
}

/**
 * The time of what a device says without a time: now, but after what it said last (`newestMs`), so that a clock that
 * was set back a little neither mixes up its readings nor makes two of them one. A `newestMs` after `latestMs` was the
 * mistake of a clock and has no effect on others.
 */
export function receiveTimeMs(nowMs: number, newestMs: number, latestMs: number): number {
  return newestMs >= nowMs && newestMs < latestMs ? newestMs + 1 : nowMs
}
