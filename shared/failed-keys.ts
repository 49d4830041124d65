import { RateLimitedError } from './errors.ts'
import { MINUTE_MS, type MonotonicClock } from './time.ts'

const MAX_FAILURES = 20
const MAX_ADDRESSES = 10_000
const MAX_KNOWN_KEYS = 100

/** What one address did: failed keys since `sinceMs`, and the keys that were right. */
interface AddressRecord {
  sinceMs: number
  failures: number
  goodKeyHashes: Set<string>
}

/**
 * Slows guessing: 20 failed keys a minute from one address. A key that was right from an address before is never locked
 * out by what else happens there: a tablet with an old key must not shut out its neighbour behind the same router.
 */
export class FailedKeys {
  readonly #clock: MonotonicClock
  readonly #addresses = new Map<string, AddressRecord>()

  constructor(clock: MonotonicClock) {
    this.#clock = clock
  }

  /** Throws when there were too many failures, unless this key was right from there. */
  check(address: string, keyHash?: string): void {
    const record = this.#recordOf(address)
    if (record.failures < MAX_FAILURES) return
    if (keyHash !== undefined && record.goodKeyHashes.has(keyHash)) return
    const endMs = record.sinceMs + MINUTE_MS
    const retryAfterS = Math.max(1, Math.ceil((endMs - this.#clock.monotonicMs()) / 1000))
    throw new RateLimitedError('too many failed API keys from this address', retryAfterS)
  }

  wasRight(address: string, keyHash: string): void {
    const { goodKeyHashes } = this.#recordOf(address)
    if (goodKeyHashes.size < MAX_KNOWN_KEYS) goodKeyHashes.add(keyHash)
  }

  hasFailed(address: string, keyHash?: string): void {
    const record = this.#recordOf(address)
    record.failures++
    if (keyHash !== undefined) record.goodKeyHashes.delete(keyHash)
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
}
