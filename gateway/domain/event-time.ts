import { hasZone, MINUTE_MS, parseIso } from '#shared/time.ts'

/** Earliest plausible time: the gateway did not exist before. */
export const EARLIEST_MS = Date.UTC(2020, 0, 1)

/** Latest time that a clock that was ever set can show. */
export const LATEST_MS = Date.UTC(2100, 0, 1)

/** Largest difference between two right clocks. */
export const MAX_AHEAD_MS = 5 * MINUTE_MS

/**
 * Returns the latest plausible time of a device: 5 minutes ahead of the gateway's. While the gateway's clock is not
 * trusted it cannot judge that of the device, which may come from a satellite.
 */
export function latestEventMs(nowMs: number, isClockTrusted: boolean): number {
  return isClockTrusted ? nowMs + MAX_AHEAD_MS : LATEST_MS
}

/** Converts a device's `ts` to ms since 1970 if it is an ISO 8601 text with a zone; else returns it unchanged. */
export function sentTime(ts: unknown): unknown {
  return typeof ts === 'string' && hasZone(ts) ? parseIso(ts) : ts
}

/** True if a device's time is plausible: not before 2020, not after `latestMs`. */
export function isPlausibleTime(atMs: unknown, latestMs: number): atMs is number {
  return typeof atMs === 'number' && atMs >= EARLIEST_MS && atMs <= latestMs
}

/**
 * Returns the time of a report without one: now, but after the last report (`newestMs`), so that a clock that was set
 * back slightly neither reorders readings nor gives two the same time. A `newestMs` after `latestMs` came from a wrong
 * clock and is ignored.
 */
export function receiveTimeMs(nowMs: number, newestMs: number, latestMs: number): number {
  return newestMs >= nowMs && newestMs < latestMs ? newestMs + 1 : nowMs
}

/** Receipt of a message with one event, against which its time is checked. */
export interface TimeReceipt {
  receivedAtMs: number
  latestMs: number
  onDrop: (reason: string) => void
  notes: { reported(atMs: number): void }
}

/** Returns the time of an event, which is worth keeping whenever it was: an implausible one is the receive time. */
export function eventTimeMs(sent: unknown, { receivedAtMs, latestMs, onDrop, notes }: TimeReceipt): number {
  const ts = sentTime(sent)
  if (!isPlausibleTime(ts, latestMs)) {
    if (sent !== undefined && sent !== null) onDrop('implausible_time')
    return receivedAtMs
  }
  const atMs = Math.round(ts)
  notes.reported(atMs)
  return atMs
}
