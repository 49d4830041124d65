import { AsyncLocalStorage } from 'node:async_hooks'
import { GATEWAY, type Origin } from '#domain/origin.ts'

/**
 * Keeps the origin of an action across everything awaited for it: every write records its origin without each service
 * passing it on.
 */
export class AuditContext {
  readonly #storage = new AsyncLocalStorage<Origin>()

  /** Runs `work` on behalf of `origin`. */
  run<Result>(origin: Origin, work: () => Result): Result {
    return this.#storage.run(origin, work)
  }

  /** Current origin; the gateway itself by default. */
  get current(): Origin {
    return this.#storage.getStore() ?? GATEWAY
  }
}
