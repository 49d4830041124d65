import type { Sql } from '#hub/store/database/database.ts'
import { type HubUser, hubUserByKey } from '#hub/store/users.ts'
import { UnauthenticatedError } from '#shared/errors.ts'
import { FailedKeys } from '#shared/failed-keys.ts'
import { hashSecret } from '#shared/ids.ts'
import { RequestRates } from '#shared/request-rates.ts'
import type { MonotonicClock } from '#shared/time.ts'

/**
 * The door of the head office. Keys are looked up in the database each time, so that one that is revoked through another
 * hub is void at once; failures and rates are counted by each hub for itself.
 */
export class HubKeyGuard {
  readonly #sql: Sql
  readonly #failedKeys: FailedKeys
  readonly #rates: RequestRates

  /** `requestsPerSecond` 0 is no limit; bursts of four times that are allowed. */
  constructor(sql: Sql, clock: MonotonicClock, requestsPerSecond: number) {
    this.#sql = sql
    this.#failedKeys = new FailedKeys(clock)
    this.#rates = new RequestRates(clock, requestsPerSecond)
  }

  /** Whose key this is, counted as one request. Throws the error for a missing key, a wrong key or too many requests. */
  async admit(apiKey: string | undefined, address: string): Promise<HubUser> {
    if (apiKey === undefined || apiKey === '')
      throw new UnauthenticatedError('missing_api_key', 'send your API key in the header X-API-Key')
    const keyHash = hashSecret(apiKey)
    this.#failedKeys.check(address, keyHash)
    const user = await hubUserByKey(this.#sql, keyHash)
    if (user === undefined || !user.isActive) this.#failedKeys.hasFailed(address, keyHash)
    if (user === undefined) throw new UnauthenticatedError('invalid_api_key', 'this API key is not valid')
    if (!user.isActive)
      throw new UnauthenticatedError('user_inactive', 'the user of this API key is disabled')
    this.#failedKeys.wasRight(address, keyHash)
    this.#rates.take(user.userId)
    return user
  }
}
