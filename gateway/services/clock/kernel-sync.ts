import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Clock, MonotonicClock } from '#shared/time.ts'
import { HOUR_MS, MINUTE_MS } from '#shared/time.ts'

/** There while systemd runs the machine: sd_booted(3). */
const SYSTEMD_FOLDER = '/run/systemd/system'
// with that variable it would tell the service manager of its own failure in the name of the gateway
const ASK = ['-u', 'NOTIFY_SOCKET', 'timedatectl', 'show', '--property=NTPSynchronized', '--value']
const ASK_MS = 30_000
/** The kernel takes the clock for synchronized for some nine hours after the last word of the program that keeps it. */
const FRESH_MS = HOUR_MS
const TIMEOUT_MS = 10_000

interface KernelSyncOptions {
  /** Runs the command; its output, or null when it cannot be run. */
  ask?: () => Promise<string | null>
  isSystemd?: () => boolean
}

/**
 * Whether the kernel says that a program keeps its clock: also where that is chrony or ntpd and not systemd-timesyncd.
 * `timedatectl` reads it (adjtimex(2), maxerror), which needs no rights; setting the clock by hand or a start takes it
 * back. Where systemd does not run the machine, nobody is asked.
 */
export class KernelSync {
  readonly #clock: Clock & MonotonicClock
  readonly #ask: () => Promise<string | null>
  readonly #isSystemd: () => boolean
  /** When it last said yes, and what the clock was ahead of the monotonic clock then. */
  #yes: { atMs: number; offsetMs: number } | null = null
  #timer: NodeJS.Timeout | undefined

  constructor(clock: Clock & MonotonicClock, options: KernelSyncOptions = {}) {
    this.#clock = clock
    this.#ask = options.ask ?? askTimedatectl
    this.#isSystemd = options.isSystemd ?? (() => existsSync(SYSTEMD_FOLDER))
  }

  async start(): Promise<void> {
    if (!this.#isSystemd()) return
    this.#timer = setInterval(() => void this.look(), ASK_MS)
    void this.look()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
  }

  /** Asks, unless the last answer still holds. */
  async look(): Promise<void> {
    if (this.isSynchronized && this.#agoMs < FRESH_MS / 2) return
    const offsetMs = this.#offsetMs
    const isSaid = (await this.#ask())?.trim() === 'yes'
    this.#yes = isSaid ? { atMs: this.#clock.monotonicMs(), offsetMs } : null
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
