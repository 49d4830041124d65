import { statSync } from 'node:fs'
import { HOUR_MS, MINUTE_MS } from '#shared/time.ts'

// "A file that is touched on each successful synchronization", gone at a reboot: systemd-timesyncd.service(8), Files
const TIMESYNC_FILE = '/run/systemd/timesync/synchronized'
/** Longer than systemd-timesyncd waits between two synchronizations: PollIntervalMaxSec, 34 minutes. */
const FRESH_MS = HOUR_MS

/**
 * Whether systemd-timesyncd has set or checked the clock within the last hour, by the clock itself, which shows
 * `systemMs`: one that was set to another time since is not synchronized, although the file is there. Where something
 * else keeps the time there is no such file, unless an operator who knows that the clock is right touches it.
 */
export function isTimeSynchronized(systemMs: number, file = TIMESYNC_FILE): boolean {
  const touchedMs = statSync(file, { throwIfNoEntry: false })?.mtimeMs
  return touchedMs !== undefined && touchedMs <= systemMs + MINUTE_MS && systemMs - touchedMs < FRESH_MS
}
