import type { Caller } from '#domain/access.ts'
import { addressOwner } from '#shared/budgets/address.ts'
import type { Rates } from '#shared/budgets/rates.ts'
import { Counter } from '#shared/counter.ts'
import { UnauthenticatedError } from '#shared/errors.ts'
import type { User, Users } from '../users.ts'
import type { GeofenceToken, GeofenceTokens } from '../zones/geofence-tokens.ts'
import { KeyLogin, type Login, SessionLogin } from './login.ts'
import type { Session } from './session.ts'
import type { Sessions } from './sessions.ts'

interface KeyGuardDeps {
  users: Users
  sessions: Pick<Sessions, 'find' | 'callerOf' | 'used'>
  /** Failed API keys, by address. */
  failedKeys: Rates
  /** Wrong codes, by address. */
  failedCodesOfAddress: Rates
  /** Wrong codes from all addresses together. */
  failedCodes: Rates
  /** Requests, by user, by session, or by device for its token. */
  requests: Rates
}

/**
 * Access control of HTTP and of `/realtime`: checks keys and sessions, slows guessing, and enforces the request rate of
 * each client. A valid key is never rejected because of other traffic from its address: many people share one router.
 * Keys are random, or checked to be hard to guess when a user chooses them.
 */
export class KeyGuard {
  readonly refused = new Counter()
  readonly #users: Users
  readonly #sessions: KeyGuardDeps['sessions']
  readonly #failedKeys: Rates
  readonly #failedCodesOfAddress: Rates
  readonly #failedCodes: Rates
  readonly #requests: Rates

  constructor({ users, sessions, failedKeys, failedCodesOfAddress, failedCodes, requests }: KeyGuardDeps) {
    this.#users = users
    this.#sessions = sessions
    this.#failedCodesOfAddress = failedCodesOfAddress
    this.#failedCodes = failedCodes
    this.#failedKeys = failedKeys
    this.#requests = requests
  }

  /**
   * Returns the login of a key and counts one request. Throws `missing_api_key`, the error of a wrong key or of too
   * many requests, and `metrics_only` unless the request is for metrics.
   */
  admit(apiKey: string | undefined, address: string, isForMetrics = false): Login {
    if (apiKey === undefined || apiKey === '') {
      this.refused.add('missing_api_key')
      throw new UnauthenticatedError('missing_api_key', 'send your API key in the header X-API-Key')
    }
    const user = this.verify(apiKey, address, isForMetrics)
    this.count(user.row.userId)
    return new KeyLogin(this.#users, user)
  }

  /** Checks a key like `admit`, but without a request limit for valid keys: for logins that are not requests. */
  verify(apiKey: string, address: string, isForMetrics = false): User {
    const user = this.#orFailed(address, () => this.#users.authenticate(apiKey, isForMetrics))
    this.#users.countKeyUse(user)
    return user
  }

  /**
   * Returns the login of a session cookie and counts one request of the session. Throws `invalid_session`, which does
   * not count as a failed key: a tablet with an ended session keeps sending requests, and 256 bits cannot be guessed.
   */
  admitSession(token: string): Login {
    const session = this.#sessions.find(token)
    const login = session && this.#sessionLogin(session)
    if (login === undefined) {
      this.refused.add('invalid_session')
      throw new UnauthenticatedError('invalid_session', 'this session has ended; sign in again')
    }
    this.count(login.owner)
    const user = this.#users.find(login.row.userId)
    if (user !== undefined) this.#users.countRequest(user)
    if (session !== undefined) this.#sessions.used(session)
    return login
  }

  /** Reads a code, which a client may guess; wrong codes are limited per address and in total. */
  redeem<Result>(address: string, read: () => Result): Result {
    return this.#orRefused(read, () => {
      this.#failedCodes.require('all', 'wrong codes')
      this.#failedCodesOfAddress.require(addressOwner(address), 'wrong codes from one address')
    })
  }

  #sessionLogin(session: Session): Login | undefined {
    const user = this.#users.find(session.row.userId)
    const caller = this.#sessions.callerOf(session)
    return user && caller && new SessionLogin(this.#sessions, session, user.row, caller)
  }

  /** Returns a key's user and counts a use, where a key is optional. Undefined for a wrong key, counted as failed. */
  recognize(apiKey: string | undefined, address: string): User | undefined {
    if (apiKey === undefined) return undefined
    try {
      return this.verify(apiKey, address)
    } catch {
      return undefined
    }
  }

  /** Returns the access of a session, for requests that are also answered without one; undefined once it has ended. */
  recognizeSession(token: string): Caller | undefined {
    const session = this.#sessions.find(token)
    return session && this.#sessions.callerOf(session)
  }

  /** Admits the token of a device, as `admit` does a key. */
  admitToken(token: string, address: string, tokens: Pick<GeofenceTokens, 'read'>): GeofenceToken {
    const found = this.#orFailed(address, () => tokens.read(token))
    this.count(`device:${found.deviceId}`)
    return found
  }

  /** Counts one request. Throws `rate_limited`. */
  count(owner: string): void {
    try {
      this.#requests.require(owner, 'requests')
    } catch (error) {
      this.refused.add('rate_limited')
      throw error
    }
  }

  /** Reads a key; a wrong one counts as failed for the address, and throws `rate_limited` beyond the limit. */
  #orFailed<Result>(address: string, read: () => Result): Result {
    return this.#orRefused(read, () =>
      this.#failedKeys.require(addressOwner(address), 'failed API keys from one address'),
    )
  }

  /** Reads a credential; `count` counts a wrong one, and throws beyond the limit. */
  #orRefused<Result>(read: () => Result, count: () => void): Result {
    try {
      return read()
    } catch (error) {
      // a valid credential that must wait or be retried is not a guess
      if (!(error instanceof UnauthenticatedError)) throw error
      try {
        count()
      } catch (limit) {
        this.refused.add('too_many_failures')
        throw limit
      }
      this.refused.add(error.code)
      throw error
    }
  }
}
