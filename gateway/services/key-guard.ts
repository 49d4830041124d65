import { AppError, UnauthenticatedError } from '#shared/errors.ts'
import { FailedKeys } from '#shared/failed-keys.ts'
import { hashSecret } from '#shared/ids.ts'
import { RequestRates } from '#shared/request-rates.ts'
import { Tally } from '#shared/tally.ts'
import type { MonotonicClock } from '#shared/time.ts'
import type { GeofenceToken, GeofenceTokens } from './geofence-tokens.ts'
import type { User, Users } from './users.ts'

/**
 * The door of HTTP and of `/realtime`: checks keys, slows guessing (20 failed keys a minute from one address) and
 * holds each key to its request rate, whatever the clock is set to. A key that was right from an address before is never locked out by what
 * else happens there: a tablet with an old key must not shut out its neighbour behind the same router.
 */
export class KeyGuard {
  readonly refused = new Tally()
  readonly #users: Users
  readonly #failedKeys: FailedKeys
  readonly #rates: RequestRates

  /** `requestsPerSecond` 0 is no limit; bursts of four times that are allowed. */
  constructor(users: Users, clock: MonotonicClock, requestsPerSecond: number) {
    this.#users = users
    this.#failedKeys = new FailedKeys(clock)
    this.#rates = new RequestRates(clock, requestsPerSecond)
  }

  /** Whose key this is, counted as one request. Throws what `missing_api_key`, a bad key or too many requests call for. */
  admit(apiKey: string | undefined, address: string): User {
    if (apiKey === undefined || apiKey === '') {
      this.refused.add('missing_api_key')
      throw new UnauthenticatedError('missing_api_key', 'send your API key in the header X-API-Key')
    }
    const user = this.verify(apiKey, address)
    this.#take(user.row.userId)
    return user
  }

  /** The same without a limit on good keys: for logins that are not requests. */
  verify(apiKey: string, address: string): User {
    const user = this.#check(apiKey, address)
    this.#users.countRequest(user)
    return user
  }

  /** The same for a token: a signature cannot be guessed, so a good one never waits, and a bad one is a failed key. */
  admitToken(token: string, address: string, tokens: Pick<GeofenceTokens, 'read'>): GeofenceToken {
    const said = this.#readToken(token, address, tokens)
    this.#take(`device:${said.deviceId}`)
    return said
  }

  #readToken(token: string, address: string, tokens: Pick<GeofenceTokens, 'read'>): GeofenceToken {
    try {
      return tokens.read(token)
    } catch (error) {
      this.#checkFailures(address)
      this.#countFailure(error, address)
      throw error
    }
  }

  #check(apiKey: string, address: string): User {
    const keyHash = hashSecret(apiKey)
    this.#checkFailures(address, keyHash)
    try {
      const user = this.#users.authenticateHash(keyHash)
      this.#failedKeys.wasRight(address, keyHash)
      return user
    } catch (error) {
      this.#countFailure(error, address, keyHash)
      throw error
    }
  }

  #checkFailures(address: string, keyHash?: string): void {
    try {
      this.#failedKeys.check(address, keyHash)
    } catch (error) {
      this.refused.add('too_many_failures')
      throw error
    }
  }

  #countFailure(error: unknown, address: string, keyHash?: string): void {
    this.#failedKeys.hasFailed(address, keyHash)
    if (error instanceof AppError) this.refused.add(error.code)
  }

  #take(caller: string): void {
    try {
      this.#rates.take(caller)
    } catch (error) {
      this.refused.add('rate_limited')
      throw error
    }
  }
}
