import type { Sql } from '#hub/store/database/database.ts'
import { type HubUser, hubUserByKey } from '#hub/store/users.ts'
import { addressOwner } from '#shared/budgets/address.ts'
import type { Rates } from '#shared/budgets/rates.ts'
import { UnauthenticatedError } from '#shared/errors.ts'
import { hashSecret } from '#shared/ids.ts'
import type { HubBudgets } from './budgets.ts'

/**
 * The door of the head office. Keys are looked up in the database each time, so that one that is revoked through
 * another hub is void at once; failures and rates are counted by each hub for itself.
 */
export class HubKeyGuard {
  readonly #sql: Sql
  readonly #failedKeys: Rates
  readonly #requests: Rates
  readonly #onKeyUsed: (keyHash: string) => void

  /** `onKeyUsed` is told the hash of each key that was right. */
  constructor(
    sql: Sql,
    { failedKeys, requests }: Pick<HubBudgets, 'failedKeys' | 'requests'>,
    onKeyUsed: (keyHash: string) => void,
  ) {
    this.#sql = sql
    this.#onKeyUsed = onKeyUsed
    this.#failedKeys = failedKeys
    this.#requests = requests
  }

  /**
   * Whose key this is, counted as one request. Throws the error for a missing key, a wrong key or too many requests. A
   * right key is never refused for wrong ones of the same address: behind a proxy all people may share one.
   */
  async admit(apiKey: string | undefined, address: string): Promise<HubUser> {
    if (apiKey === undefined || apiKey === '')
      throw new UnauthenticatedError('missing_api_key', 'send your API key in the header X-API-Key')
    const keyHash = hashSecret(apiKey)
    const user = await hubUserByKey(this.#sql, keyHash)
    if (user === undefined || !user.isActive)
      this.#failedKeys.require(addressOwner(address), 'failed API keys from one address')
    if (user === undefined) throw new UnauthenticatedError('invalid_api_key', 'this API key is not valid')
    if (!user.isActive) throw new UnauthenticatedError('user_inactive', 'the user of this API key is disabled')
    this.#onKeyUsed(keyHash)
    this.#requests.require(user.userId, 'requests')
    return user
  }

  /** The active user of a key; undefined if there is none. */
  async userOf(apiKey: string): Promise<HubUser | undefined> {
    const user = await hubUserByKey(this.#sql, hashSecret(apiKey))
    return user?.isActive ? user : undefined
  }
}
