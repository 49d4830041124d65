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
  /** By address. */
  failedKeys: Rates
  /** By address. */
  failedCodesOfAddress: Rates
  /** Of all addresses together. */
  failedCodes: Rates
  /** By user, by session, or by device for its token. */
  requests: Rates
}

/**
 * The door of HTTP and of `/realtime`: checks keys and sessions, slows guessing, and holds each to its request rate. A
 * right key is never refused for what else comes from its address: many people are behind one router. Keys are random,
 * or checked for being hard to guess when they are chosen.
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
   * Whose key this is, counted as one request. Throws what `missing_api_key`, a bad key or too many requests call for,
   * and `metrics_only` unless the request is for metrics.
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

  /** The same without a limit on right keys: for logins that are not requests. */
  verify(apiKey: string, address: string, isForMetrics = false): User {
    const user = this.#orFailed(address, () => this.#users.authenticate(apiKey, isForMetrics))
    this.#users.countKeyUse(user)
    return user
  }

  /**
   * Whose session this cookie is of, counted as one request of the session. Throws `invalid_session`, which is no
   * failed key: a tablet whose session is over goes on asking, and nobody guesses 256 bits.
   */
  admitSession(token: string): Login {
    const session = this.#sessions.find(token)
    const login = session && this.#sessionLogin(session)
    if (login === undefined) {
      this.refused.add('invalid_session')
      throw new UnauthenticatedError('invalid_session', 'this session is over: sign in again')
    }
    this.count(login.owner)
    const user = this.#users.find(login.row.userId)
    if (user !== undefined) this.#users.countRequest(user)
    if (session !== undefined) this.#sessions.used(session)
    return login
  }

  /** Reads a code, which a client may guess: of wrong ones there are so many for an address, and for all addresses. */
  redeem<Said>(address: string, read: () => Said): Said {
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

  /**
   * The user of a key, for what is answered without a key too, which is a use of the key. Undefined for a wrong key,
   * which is a failed key.
   */
  recognize(apiKey: string | undefined, address: string): User | undefined {
    if (apiKey === undefined) return undefined
    try {
      return this.verify(apiKey, address)
    } catch {
      return undefined
    }
  }

  /** What may be done with a session, for what is answered without one too; undefined when it is over. */
  recognizeSession(token: string): Caller | undefined {
    const session = this.#sessions.find(token)
    return session && this.#sessions.callerOf(session)
  }

  /** The same as `admit` for the token of a device. */
  admitToken(token: string, address: string, tokens: Pick<GeofenceTokens, 'read'>): GeofenceToken {
    const said = this.#orFailed(address, () => tokens.read(token))
    this.count(`device:${said.deviceId}`)
    return said
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

  /** Reads a key; a wrong one is a failed key of the address, and one too many throws `rate_limited`. */
  #orFailed<Said>(address: string, read: () => Said): Said {
    return this.#orRefused(read, () =>
      this.#failedKeys.require(addressOwner(address), 'failed API keys from one address'),
    )
  }

  /** Reads what opens the door; `count` counts what does not, and throws when there was too much of it. */
  #orRefused<Said>(read: () => Said, count: () => void): Said {
    try {
      return read()
    } catch (error) {
      // what was right, and waits or is to be tried again, is no guess
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
