import { existsSync } from 'node:fs'

// "A file that is touched on each successful synchronization", gone at a reboot: systemd-timesyncd.service(8), Files
const TIMESYNC_FILE = '/run/systemd/timesync/synchronized'

/**
 * Whether systemd-timesyncd has set the clock since the machine started. Where something else keeps the time there is no
 * such file, unless an operator who knows that the clock is right creates it.
 */
export function isTimeSynchronized(): boolean {
  return existsSync(TIMESYNC_FILE)
}
