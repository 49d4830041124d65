import { execFile } from 'node:child_process'

/** What a service manager may be told. Source: sd_notify(3). */
export interface ServiceStatus {
  READY?: 1
  STOPPING?: 1
  WATCHDOG?: 1
  /** One line for people. */
  STATUS?: string
  EXTEND_TIMEOUT_USEC?: number
}

const TIMEOUT_MS = 10_000

/** Whether a service manager has started this program and wants to be told how it is doing. */
export function hasServiceManager({ NOTIFY_SOCKET }: NodeJS.ProcessEnv = process.env): boolean {
  return NOTIFY_SOCKET !== undefined && NOTIFY_SOCKET !== ''
}

/** After how long without a word the service manager ends this process, in milliseconds; null when it does not. */
export function watchdogTimeoutMs({ WATCHDOG_USEC, WATCHDOG_PID } = process.env): number | null {
  const isOther = WATCHDOG_PID !== undefined && Number(WATCHDOG_PID) !== process.pid
  const ms = Number(WATCHDOG_USEC) / 1000
  return isOther || !(ms > 0) ? null : ms
}

/**
 * Tells the service manager, if there is one; resolves with why it could not be told, or null. systemd's own
 * `systemd-notify` does it, in some 10 ms, and ends when systemd has understood: Node has no Unix datagram sockets.
 */
export async function notifyServiceManager(news: ServiceStatus): Promise<string | null> {
  if (!hasServiceManager()) return null
  const words = Object.entries(news).map(([name, value]) => `${name}=${String(value).replaceAll('\n', ' ')}`)
  return new Promise((resolve) => {
    execFile('systemd-notify', words, { timeout: TIMEOUT_MS }, (error) => resolve(error?.message ?? null))
  })
}
