import { AsyncLocalStorage } from 'node:async_hooks'
import { GATEWAY, type Origin } from '#domain/origin.ts'

/**
 * Remembers who has something done, through all that is awaited for it: every write says who is behind it, without each
 * service handing it on.
 */
export class AuditContext {
  readonly #storage = new AsyncLocalStorage<Origin>()

  /** Does `work` on behalf of `origin`. */
  run<Result>(origin: Origin, work: () => Result): Result {
    return this.#storage.run(origin, work)
  }

  /** The gateway itself where nobody else is behind it. */
  get current(): Origin {
    return this.#storage.getStore() ?? GATEWAY
  }
}
