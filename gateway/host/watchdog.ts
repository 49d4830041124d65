import type { DiskProbe } from '#domain/written-disk.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { notifyServiceManager, type ServiceStatus } from '#shared/service/manager.ts'

export interface WatchdogOptions {
  disk: DiskProbe
  /** What the program does while all is well: one line for people. */
  status: string
  log: Log
  /** After how long without a word systemd ends the process; null when it does not. */
  timeoutMs: number | null
  notify?: (news: ServiceStatus) => Promise<string | null>
  /** An answer of the disk counts for so long. */
  freshMs?: number
}

const FRESH_MS = 10_000
/** How often systemd is told in the time after which it ends a program. */
const TIMES = 3

/**
 * Tells systemd how the gateway is doing, and feeds its watchdog: only when the disk has answered within the last ten
 * seconds, to a commit or to a probe. A disk that refuses has answered: a restart makes no room, and would take away
 * what is still served. One that stands still, and a writer or an event loop that hangs, has not.
 */
export class Watchdog implements Component {
  readonly #disk: DiskProbe
  #status: string
  readonly #log: Log
  readonly #patienceMs: number | null
  readonly #tell: (news: ServiceStatus) => Promise<string | null>
  readonly #freshMs: number
  #isLooking = false
  #hasFailed = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: WatchdogOptions) {
    this.#disk = options.disk
    this.#status = options.status
    this.#log = options.log
    this.#patienceMs = options.timeoutMs
    this.#tell = options.notify ?? notifyServiceManager
    this.#freshMs = options.freshMs ?? FRESH_MS
  }

  /** The program is ready. */
  async start(): Promise<void> {
    await this.#say({ READY: 1, STATUS: this.#status })
    if (this.#patienceMs !== null) this.#timer = setInterval(() => void this.#look(), this.#patienceMs / TIMES)
  }

  /** What the program does while all is well has changed. */
  async setStatus(status: string): Promise<void> {
    this.#status = status
    await this.#say({ STATUS: this.#statusNow })
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#say({ STOPPING: 1, STATUS: 'stopping' })
  }

  async #look(): Promise<void> {
    // the disk has not answered the last one
    if (this.#isLooking) return
    this.#isLooking = true
    if (!this.#isFresh) await this.#disk.probe().catch(() => undefined)
    if (this.#isFresh) await this.#say({ WATCHDOG: 1, STATUS: this.#statusNow })
    this.#isLooking = false
  }

  get #statusNow(): string {
    const { isUsable, detail } = this.#disk.health
    return isUsable ? this.#status : `stores nothing: ${detail}`
  }

  get #isFresh(): boolean {
    return performance.now() - this.#disk.answeredAtMs <= this.#freshMs
  }

  async #say(news: ServiceStatus): Promise<void> {
    const reason = await this.#tell(news)
    if (reason !== null && !this.#hasFailed)
      this.#log.warn({ reason }, 'cannot tell the service manager how the gateway is doing')
    this.#hasFailed = reason !== null
  }
}
