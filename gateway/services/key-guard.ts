import { AppError, RateLimitedError, UnauthenticatedError } from '../../shared/errors.ts'
import { hashSecret } from '../../shared/ids.ts'
import { Tally } from '../../shared/tally.ts'
import { MINUTE_MS, type MonotonicClock } from '../../shared/time.ts'
import type { GeofenceToken, GeofenceTokens } from './geofence-tokens.ts'
import type { User, Users } from './users.ts'

const MAX_FAILURES = 20
const MAX_ADDRESSES = 10_000
const MAX_KNOWN_KEYS = 100

/** What one address did: failed keys since `sinceMs`, and the keys that were right. */
interface AddressRecord {
  sinceMs: number
  failures: number
  goodKeyHashes: Set<string>
}

interface Bucket {
  tokens: number
  atMs: number
}

/**
 * The door of HTTP and of `/realtime`: checks keys, slows guessing (20 failed keys a minute from one address) and
 * holds each key to its request rate, whatever the clock is set to. A key that was right from an address before is never locked out by what
 * else happens there: a tablet with an old key must not shut out its neighbour behind the same router.
 */
export class KeyGuard {
  readonly refused = new Tally()
  readonly #users: Users
  readonly #clock: MonotonicClock
  readonly #requestsPerSecond: number
  readonly #addresses = new Map<string, AddressRecord>()
  readonly #buckets = new Map<string, Bucket>()

  /** `requestsPerSecond` 0 is no limit; bursts of four times that are allowed. */
  constructor(users: Users, clock: MonotonicClock, requestsPerSecond: number) {
    this.#users = users
    this.#clock = clock
    this.#requestsPerSecond = requestsPerSecond
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

  /** The same for a token: nobody guesses a signature, so a good one never waits, and a bad one is a failed key. */
  admitToken(token: string, address: string, tokens: Pick<GeofenceTokens, 'read'>): GeofenceToken {
    const said = this.#readToken(token, address, tokens)
    this.#take(`device:${said.deviceId}`)
    return said
  }

  #readToken(token: string, address: string, tokens: Pick<GeofenceTokens, 'read'>): GeofenceToken {
    try {
      return tokens.read(token)
    } catch (error) {
      const record = this.#recordOf(address)
      if (record.failures >= MAX_FAILURES) throw this.#tooManyFailures(record)
      this.#countFailure(record, error)
      throw error
    }
  }

  #check(apiKey: string, address: string): User {
    const record = this.#recordOf(address)
    const keyHash = hashSecret(apiKey)
    if (record.failures >= MAX_FAILURES && !record.goodKeyHashes.has(keyHash))
      throw this.#tooManyFailures(record)
    try {
      const user = this.#users.authenticateHash(keyHash)
      if (record.goodKeyHashes.size < MAX_KNOWN_KEYS) record.goodKeyHashes.add(keyHash)
      return user
    } catch (error) {
      record.goodKeyHashes.delete(keyHash)
      this.#countFailure(record, error)
      throw error
    }
  }

  #countFailure(record: AddressRecord, error: unknown): void {
    record.failures++
    if (error instanceof AppError) this.refused.add(error.code)
  }

  #tooManyFailures(record: AddressRecord): RateLimitedError {
    this.refused.add('too_many_failures')
    const retryAfterS = Math.max(
      1,
      Math.ceil((record.sinceMs + MINUTE_MS - this.#clock.monotonicMs()) / 1000),
    )
    return new RateLimitedError('too many failed API keys from this address', retryAfterS)
  }

  #recordOf(address: string): AddressRecord {
    const nowMs = this.#clock.monotonicMs()
    let record = this.#addresses.get(address)
    if (record === undefined) {
      record = { sinceMs: nowMs, failures: 0, goodKeyHashes: new Set() }
      if (this.#addresses.size >= MAX_ADDRESSES)
        this.#addresses.delete(this.#addresses.keys().next().value ?? '')
      this.#addresses.set(address, record)
    } else if (nowMs - record.sinceMs >= MINUTE_MS) {
      record.sinceMs = nowMs
      record.failures = 0
    }
    return record
  }

  // Token bucket: refills at the sustained rate, holds one burst.
  #take(userId: string): void {
    const rate = this.#requestsPerSecond
    if (rate === 0) return
    const burst = 4 * rate
    const nowMs = this.#clock.monotonicMs()
    const bucket = this.#buckets.get(userId) ?? { tokens: burst, atMs: nowMs }
    const elapsedS = (nowMs - bucket.atMs) / 1000
    bucket.tokens = Math.min(burst, bucket.tokens + elapsedS * rate)
    bucket.atMs = nowMs
    this.#buckets.set(userId, bucket)
    if (bucket.tokens < 1) {
      this.refused.add('rate_limited')
      throw new RateLimitedError(
        `more than ${rate} requests a second`,
        Math.max(1, Math.ceil((1 - bucket.tokens) / rate)),
      )
    }
    bucket.tokens--
  }
}
