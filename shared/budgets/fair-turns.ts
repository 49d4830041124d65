import { AsyncLocalStorage } from 'node:async_hooks'
import { RateLimitedError } from '#shared/errors.ts'
import { FairQueue } from './fair-queue.ts'
import { Slots } from './slots.ts'

/** Runs jobs one after another, round robin over the budget keys; jobs of one key in the order of their arrival. */
export class FairTurns {
  readonly #waiting = new FairQueue<() => Promise<void>>()
  readonly #slots: Slots
  readonly #maxWaiting: number
  #running: Promise<void> | undefined

  /** `maxWaiting` limits the jobs of one budget key that wait or run. */
  constructor(maxWaiting = Number.POSITIVE_INFINITY, onRefused?: () => void) {
    this.#maxWaiting = maxWaiting
    this.#slots = new Slots({ perOwner: maxWaiting }, onRefused)
  }

  /** Runs `work` when its key is next, however other jobs ended. Throws `rate_limited` if too many of its jobs wait. */
  async take<Result>(owner: string, work: () => Promise<Result>): Promise<Result> {
    if (!this.#slots.take(owner)) {
      const message = `you already have ${this.#maxWaiting} requests waiting`
      throw new RateLimitedError(message, 1)
    }
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    // the job may be started from another key's job; it must keep its own async context
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

  /** Resolves when no job waits any more. */
  async idle(): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    // lets jobs that arrive in the same tick take part in the round robin from the first one on
    await undefined
    for (let next = this.#next(); next !== undefined; next = this.#next()) await next()
    this.#running = undefined
  }

  #next(): (() => Promise<void>) | undefined {
    return this.#waiting.take(() => true)
  }
}
