import type { Part } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { MINUTE_MS, toIso } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import type { GatewayClock } from './gateway-clock.ts'

interface ClockMarkDeps {
  clock: GatewayClock
  store: Pick<Store, 'read' | 'write'>
  log: Log
}

const LOOK_MS = 10_000

/**
 * Writes down what time it is, once a minute and whenever the clock was set, so that the next start knows what time it
 * must be at least. A clock that was set back takes the mark with it.
 */
export class ClockMark implements Part {
  readonly #deps: ClockMarkDeps
  #markMs = 0
  #wasTrusted = true
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined

  constructor(deps: ClockMarkDeps) {
    this.#deps = deps
  }

  async start(): Promise<void> {
    const { clock, store } = this.#deps
    this.#markMs = store.read.clockMark()
    clock.start(this.#markMs)
    this.look()
    this.#timer = setInterval(() => this.look(), LOOK_MS)
  }

  async stop(): Promise<void> {
    if (this.#timer === undefined) return
    clearInterval(this.#timer)
    this.#timer = undefined
    await this.#writing
    await this.#write()
  }

  /** Says so if the clock has become wrong or right, and moves the mark if it is a minute off. */
  look(): void {
    const { clock, log } = this.#deps
    clock.check()
    const nowMs = clock.nowMs()
    if (clock.isTrusted !== this.#wasTrusted) {
      this.#wasTrusted = clock.isTrusted
      const now = toIso(nowMs)
      if (this.#wasTrusted) log.info({ now }, 'the clock is set now')
      else log.warn({ now }, 'the clock is not set: times are estimates until it is')
    }
    if (Math.abs(nowMs - this.#markMs) >= MINUTE_MS) {
      this.#writing ??= this.#write().finally(() => {
        this.#writing = undefined
      })
    }
  }

  async #write(): Promise<void> {
    const atMs = this.#deps.clock.nowMs()
    try {
      await this.#deps.store.write('recordClockMark', { atMs })
      this.#markMs = atMs
    } catch (error) {
      this.#deps.log.debug({ reason: String(error) }, 'could not store the clock mark')
    }
  }
}
