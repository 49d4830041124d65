import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Clock, MonotonicClock } from '#shared/time.ts'
import { HOUR_MS, MINUTE_MS } from '#shared/time.ts'

/** Exists while systemd runs the host: sd_booted(3). */
const SYSTEMD_FOLDER = '/run/systemd/system'
// with that variable, timedatectl would report its own failure to the service manager in the name of the gateway
const ASK = ['-u', 'NOTIFY_SOCKET', 'timedatectl', 'show', '--property=NTPSynchronized', '--value']
const ASK_MS = 30_000
/** Maximum age of a result; the kernel counts as synchronized for nine hours after the last update of its clock. */
const FRESH_MS = HOUR_MS
const TIMEOUT_MS = 10_000

interface KernelSyncOptions {
  /** Runs the command; resolves to its output, or null if it cannot be run. */
  ask?: () => Promise<string | null>
  isSystemd?: () => boolean
}

/**
 * Synchronization state of the kernel, which also covers chrony and ntpd. `timedatectl` reads it (adjtimex(2),
 * maxerror) without privileges; a reboot or setting the clock by hand clears it. Not queried without systemd.
 */
export class KernelSync {
  readonly #clock: Clock & MonotonicClock
  readonly #ask: () => Promise<string | null>
  readonly #isSystemd: () => boolean
  /** Time of the last positive result, and the clock time minus monotonic time at its query. */
  #yes: { atMs: number; offsetMs: number } | null = null
  #timer: NodeJS.Timeout | undefined

  constructor(clock: Clock & MonotonicClock, options: KernelSyncOptions = {}) {
    this.#clock = clock
    this.#ask = options.ask ?? askTimedatectl
    this.#isSystemd = options.isSystemd ?? (() => existsSync(SYSTEMD_FOLDER))
  }

  async start(): Promise<void> {
    if (!this.#isSystemd()) return
    this.#timer = setInterval(() => void this.check(), ASK_MS)
    void this.check()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
  }

  /** Queries the state, unless the last result is recent enough. */
  async check(): Promise<void> {
    if (this.isSynchronized && this.#agoMs < FRESH_MS / 2) return
    const offsetMs = this.#offsetMs
    const isReported = (await this.#ask())?.trim() === 'yes'
    this.#yes = isReported ? { atMs: this.#clock.monotonicMs(), offsetMs } : null
  }

  /** False as soon as the clock is set. */
  get isSynchronized(): boolean {
    if (this.#yes === null || this.#agoMs >= FRESH_MS) return false
    return Math.abs(this.#offsetMs - this.#yes.offsetMs) <= MINUTE_MS
  }

  get #agoMs(): number {
    return this.#clock.monotonicMs() - (this.#yes?.atMs ?? 0)
  }

  get #offsetMs(): number {
    return this.#clock.nowMs() - this.#clock.monotonicMs()
  }
}

function askTimedatectl(): Promise<string | null> {
  return new Promise((resolve) => {
    execFile('env', ASK, { timeout: TIMEOUT_MS }, (error, output) => resolve(error === null ? output : null))
  })
}
