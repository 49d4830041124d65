import type { Sql } from '#hub/store/database/database.ts'
import { type HubUser, hubUserByKey } from '#hub/store/users.ts'
import { addressOwner } from '#shared/budgets/address.ts'
import type { Rates } from '#shared/budgets/rates.ts'
import { UnauthenticatedError } from '#shared/errors.ts'
import { hashSecret } from '#shared/ids.ts'
import type { HubBudgets } from './budgets.ts'

/**
 * Authentication of users of the hub. Keys are looked up in the database each time, so that a key revoked through
 * another hub becomes invalid immediately; each hub counts failures and rates separately.
 */
export class HubKeyGuard {
  readonly #sql: Sql
  readonly #failedKeys: Rates
  readonly #requests: Rates
  readonly #onKeyUsed: (keyHash: string) => void

  /** `onKeyUsed` receives the hash of each valid key. */
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
   * Returns the user of a key, and counts one request. Throws the error for a missing key, a wrong key or too many
   * requests. A valid key is never refused because of wrong keys from the same address: behind a proxy all users may
   * share one.
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

  /** Returns the active user of a key, or undefined. */
  async userOf(apiKey: string): Promise<HubUser | undefined> {
    const user = await hubUserByKey(this.#sql, hashSecret(apiKey))
    return user?.isActive ? user : undefined
  }
}
