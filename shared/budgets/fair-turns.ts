import { AsyncLocalStorage } from 'node:async_hooks'
import { RateLimitedError } from '#shared/errors.ts'
import { FairQueue } from './fair-queue.ts'
import { Slots } from './slots.ts'

/**
 * Work that is done one piece after the other. Owners take turns, so that who has much of it waits only for its own; of
 * one owner, what came first is done first.
 */
export class FairTurns {
  readonly #waiting = new FairQueue<() => Promise<void>>()
  readonly #slots: Slots
  readonly #maxWaiting: number
  #running: Promise<void> | undefined

  /** `maxWaiting` pieces of one owner may wait or be under way. */
  constructor(maxWaiting = Number.POSITIVE_INFINITY, onRefused?: () => void) {
    this.#maxWaiting = maxWaiting
    this.#slots = new Slots({ perOwner: maxWaiting }, onRefused)
  }

  /**
   * Does `work` when it is the owner's turn, however other work ended. Throws `rate_limited` when too much waits
   * already.
   */
  async take<Result>(owner: string, work: () => Promise<Result>): Promise<Result> {
    if (!this.#slots.take(owner)) {
      const message = `${this.#maxWaiting} requests of yours wait for their turn already`
      throw new RateLimitedError(message, 1)
    }
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    // another owner's work may be what comes to it: it must still be known whose it is
    const ownWork = AsyncLocalStorage.bind(work)
    this.#waiting.push(owner, async () => {
      try {
        resolve(await ownWork())
      } catch (error) {
        reject(error)
      } finally {
        this.#slots.release(owner)
      }
    })
    this.#running ??= this.#run()
    return promise
  }

  /** Resolves when all that waits is done. */
  async idle(): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    // what comes at the same time takes turns from the first on
    await undefined
    for (let next = this.#next(); next !== undefined; next = this.#next()) await next()
    this.#running = undefined
  }

  #next(): (() => Promise<void>) | undefined {
    return this.#waiting.take(() => true)
  }
}
