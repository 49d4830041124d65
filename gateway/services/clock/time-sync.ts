import { statSync } from 'node:fs'
import { HOUR_MS, MINUTE_MS } from '#shared/time.ts'

// "A file that is touched on each successful synchronization", gone at a reboot: systemd-timesyncd.service(8), Files
const TIMESYNC_FILE = '/run/systemd/timesync/synchronized'
/** Longer than the longest interval between synchronizations of systemd-timesyncd: PollIntervalMaxSec, 34 minutes. */
const FRESH_MS = HOUR_MS

/**
 * True if systemd-timesyncd has set or checked the clock within the last hour, by the clock itself, which shows
 * `systemMs`: after a later change by hand the clock is not synchronized, although the file exists. Other time services
 * do not create the file, but an operator who knows that the clock is right may touch it.
 */
export function isTimeSynchronized(systemMs: number, file = TIMESYNC_FILE): boolean {
  const touchedMs = statSync(file, { throwIfNoEntry: false })?.mtimeMs
  return touchedMs !== undefined && touchedMs <= systemMs + MINUTE_MS && systemMs - touchedMs < FRESH_MS
}
