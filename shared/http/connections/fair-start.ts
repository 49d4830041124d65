import { FairQueue } from '#shared/budgets/fair-queue.ts'

/** Requests started per tick of the event loop: some milliseconds of work, after which connections and timers run. */
const MOST_A_TURN = 16

/** Starts a few requests per tick, round robin over the addresses: a client's many connections delay only its own. */
export class FairStart {
  readonly #waiting = new FairQueue<() => void>()
  #begunInTurn = 0
  #isTurnAwaited = false

  /** Calls `begin` now, or in a later tick of the event loop. */
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
