import type { TestContext } from 'node:test'
import { setImmediate as loopTurn, setTimeout as pause } from 'node:timers/promises'
import { FakeClock } from './clocks.ts'

/** Time step after which only sockets of this process are served. */
const STEP_MS = 250
/** Shorter step while a thread or a disk is awaited, so that it does not appear to hang. */
const SLOW_STEP_MS = 5

/**
 * Clock together with every timer that this process sets from now on, including those of libraries. Timers of other
 * threads, and of `node:timers/promises`, are real. `mock.timers` of Node 24 is not sufficient: its `refresh()` does
 * nothing, so the first keep-alive of a broker would end every connection.
 */
export class MovingTime {
  readonly clock = new FakeClock()
  /** Restores the real timers; also called at the end of the test. */
  readonly end: () => void
  readonly #timers = new Set<MovedTimer>()

  constructor(t: TestContext) {
    const { setTimeout, setInterval, clearTimeout, clearInterval } = globalThis
    const set = (isRepeated: boolean) =>
      ((act: (...args: unknown[]) => void, ms = 1, ...args: unknown[]) =>
        new MovedTimer(this.#timers, this.clock, isRepeated, ms, () => act(...args))) as unknown
    const clear = (timer: unknown) => (timer instanceof MovedTimer ? timer.close() : clearTimeout(timer as undefined))
    // the real functions have further overloads, which no caller uses
    Object.assign(globalThis, {
      setTimeout: set(false),
      setInterval: set(true),
      clearTimeout: clear,
      clearInterval: clear,
    })
    this.end = () => void Object.assign(globalThis, { setTimeout, setInterval, clearTimeout, clearInterval })
    t.after(this.end)
  }

  async until(atMs: number): Promise<void> {
    while (this.clock.nowMs() < atMs) {
      this.#advance(STEP_MS)
      await loopTurn()
    }
  }

  /** Advances time until the promise is settled. */
  async during<Result>(promise: Promise<Result>): Promise<Result> {
    let isSettled = false
    const settled = promise.finally(() => {
      isSettled = true
    })
    settled.catch(() => undefined)
    while (!isSettled) {
      await pause(1)
      this.#advance(SLOW_STEP_MS)
    }
    return settled
  }

  #advance(ms: number): void {
    this.clock.advance(ms)
    for (const timer of [...this.#timers].sort((one, other) => one.dueMs - other.dueMs)) timer.runIfDue()
  }
}

/** Substitute for `NodeJS.Timeout`. */
class MovedTimer {
  dueMs = 0
  readonly #all: Set<MovedTimer>
  readonly #clock: FakeClock
  readonly #isRepeated: boolean
  readonly #ms: number
  readonly #act: () => void

  constructor(all: Set<MovedTimer>, clock: FakeClock, isRepeated: boolean, ms: number, act: () => void) {
    this.#all = all
    this.#clock = clock
    this.#isRepeated = isRepeated
    // like Node: a delay beyond 31 bits is due immediately
    this.#ms = ms >= 1 && ms < 2 ** 31 ? ms : 1
    this.#act = act
    this.refresh()
  }

  refresh(): this {
    this.#all.add(this)
    this.dueMs = this.#clock.monotonicMs() + this.#ms
    return this
  }

  close(): this {
    this.#all.delete(this)
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return this.#all.has(this)
  }

  runIfDue(): void {
    if (!this.#all.has(this) || this.dueMs > this.#clock.monotonicMs()) return
    if (this.#isRepeated) this.refresh()
    else this.close()
    this.#act()
  }
}
