import { FairQueue } from '#shared/budgets/fair-queue.ts'

/**
 * More begin in the next turn of the event loop: some milliseconds of work, after which connections and timers have
 * theirs.
 */
const MOST_A_TURN = 16

/**
 * Begins requests, a few in each turn of the event loop, addresses in turn: one with hundreds of connections waits for
 * its own requests, not others for it.
 */
export class FairStart {
  readonly #waiting = new FairQueue<() => void>()
  #begunInTurn = 0
  #isTurnAwaited = false

  /** Calls `begin` now, or in one of the next turns of the event loop. */
  add(owner: string, begin: () => void): void {
    this.#awaitTurn()
    if (this.#waiting.isEmpty && this.#begunInTurn < MOST_A_TURN) {
      this.#begunInTurn++
      begin()
    } else this.#waiting.push(owner, begin)
  }

  #awaitTurn(): void {
    if (this.#isTurnAwaited) return
    this.#isTurnAwaited = true
    setImmediate(() => this.#turn())
  }

  #turn(): void {
    this.#isTurnAwaited = false
    this.#begunInTurn = 0
    if (this.#waiting.isEmpty) return
    this.#awaitTurn()
    while (this.#begunInTurn < MOST_A_TURN) {
      const begin = this.#waiting.take(() => true)
      if (begin === undefined) return
      this.#begunInTurn++
      begin()
    }
  }
}
