import type { DiskProbe } from '#domain/written-disk.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { notifyServiceManager, type ServiceStatus } from '#shared/service/manager.ts'

export interface WatchdogOptions {
  disk: DiskProbe
  /** Status line for people while all is well. */
  status: string
  log: Log
  /** Time without a message after which systemd ends the process; null if it does not. */
  timeoutMs: number | null
  notify?: (news: ServiceStatus) => Promise<string | null>
  /** Time for which a response of the disk counts. */
  freshMs?: number
}

const FRESH_MS = 10_000
/** Number of messages to systemd per timeout. */
const TIMES = 3

/**
 * Reports the state of the gateway to systemd, and feeds its watchdog: only if the disk has responded to a commit or to
 * a probe within the last ten seconds. A disk that rejects writes has responded: a restart frees no space, and would
 * stop everything still served. A disk that hangs has not, nor has a writer or an event loop that hangs.
 */
export class Watchdog implements Component {
  readonly #disk: DiskProbe
  #status: string
  readonly #log: Log
  readonly #patienceMs: number | null
  readonly #notify: (news: ServiceStatus) => Promise<string | null>
  readonly #freshMs: number
  #isChecking = false
  #hasFailed = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: WatchdogOptions) {
    this.#disk = options.disk
    this.#status = options.status
    this.#log = options.log
    this.#patienceMs = options.timeoutMs
    this.#notify = options.notify ?? notifyServiceManager
    this.#freshMs = options.freshMs ?? FRESH_MS
  }

  /** Reports that the program is ready. */
  async start(): Promise<void> {
    await this.#say({ READY: 1, STATUS: this.#status })
    if (this.#patienceMs !== null) this.#timer = setInterval(() => void this.#check(), this.#patienceMs / TIMES)
  }

  /** Changes the status line for the time while all is well. */
  async setStatus(status: string): Promise<void> {
    this.#status = status
    await this.#say({ STATUS: this.#statusNow })
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#say({ STOPPING: 1, STATUS: 'stopping' })
  }

  async #check(): Promise<void> {
    // the last probe is still pending
    if (this.#isChecking) return
    this.#isChecking = true
    if (!this.#isFresh) await this.#disk.probe().catch(() => undefined)
    if (this.#isFresh) await this.#say({ WATCHDOG: 1, STATUS: this.#statusNow })
    this.#isChecking = false
  }

  get #statusNow(): string {
    const { isUsable, detail } = this.#disk.health
    return isUsable ? this.#status : `cannot store: ${detail}`
  }

  get #isFresh(): boolean {
    return performance.now() - this.#disk.answeredAtMs <= this.#freshMs
  }

  async #say(news: ServiceStatus): Promise<void> {
    const reason = await this.#notify(news)
    if (reason !== null && !this.#hasFailed)
      this.#log.warn({ reason }, 'cannot report the state of the gateway to the service manager')
    this.#hasFailed = reason !== null
  }
}
