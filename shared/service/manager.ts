import { execFile } from 'node:child_process'

/** Status fields for a service manager. Source: sd_notify(3). */
export interface ServiceStatus {
  READY?: 1
  STOPPING?: 1
  WATCHDOG?: 1
  /** Status in one readable line. */
  STATUS?: string
  EXTEND_TIMEOUT_USEC?: number
}

const TIMEOUT_MS = 10_000

/** True if a service manager has started this program and expects status messages. */
export function hasServiceManager({ NOTIFY_SOCKET }: NodeJS.ProcessEnv = process.env): boolean {
  return NOTIFY_SOCKET !== undefined && NOTIFY_SOCKET !== ''
}

/** Watchdog timeout of the service manager in ms; null if it has none for this process. */
export function watchdogTimeoutMs({ WATCHDOG_USEC, WATCHDOG_PID } = process.env): number | null {
  const isOther = WATCHDOG_PID !== undefined && Number(WATCHDOG_PID) !== process.pid
  const ms = Number(WATCHDOG_USEC) / 1000
  return isOther || !(ms > 0) ? null : ms
}

/**
 * Notifies the service manager, if any; resolves with the reason of a failure, or null. Uses systemd's
 * `systemd-notify`, which takes about 10 ms and ends when systemd has processed the message: Node has no Unix datagram
 * sockets.
 */
export async function notifyServiceManager(news: ServiceStatus): Promise<string | null> {
  if (!hasServiceManager()) return null
  const words = Object.entries(news).map(([name, value]) => `${name}=${String(value).replaceAll('\n', ' ')}`)
  return new Promise((resolve) => {
    execFile('systemd-notify', words, { timeout: TIMEOUT_MS }, (error) => resolve(error?.message ?? null))
  })
}
