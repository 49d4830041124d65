import { AsyncLocalStorage } from 'node:async_hooks'
import { GATEWAY, type Origin } from '#domain/origin.ts'

/** Keeps the origin of an action across everything awaited for it, so that no service has to pass it on to writes. */
export class AuditContext {
  readonly #storage = new AsyncLocalStorage<Origin>()

  run<Result>(origin: Origin, work: () => Result): Result {
    return this.#storage.run(origin, work)
  }

  /** Current origin; the gateway itself by default. */
  get current(): Origin {
    return this.#storage.getStore() ?? GATEWAY
  }
}
