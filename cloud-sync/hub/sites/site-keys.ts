import { setTimeout } from 'node:timers/promises'
import type { Sql } from '#hub/store/database/database.ts'
import { allSiteKeys, siteKeyState } from '#hub/store/sites.ts'
import { addressOwner } from '#shared/budgets/address.ts'
import { FAILED_KEYS } from '#shared/budgets/failed-keys.ts'
import { Rates } from '#shared/budgets/rates.ts'
import type { Counter } from '#shared/counter.ts'
import { AppError, RateLimitedError } from '#shared/errors.ts'
import { hashSecret } from '#shared/ids.ts'
import type { MonotonicClock } from '#shared/time.ts'
import { siteIdOfKey } from './keys.ts'

/** Minimum interval between two reads of all keys, made to find unknown ones. */
const RELOAD_MS = 1_000
const RETRY_S = 60

/**
 * Authentication of gateways. A key that some site has or had is queried in the database each time, so that a key
 * revoked through another hub becomes invalid immediately. For all unknown keys together, the keys are read once a
 * second at most: wrong keys cost the database next to nothing, and a valid key is never refused because of them.
 */
export class SiteKeys {
  readonly #sql: Sql
  readonly #clock: MonotonicClock
  readonly #refused: Counter
  readonly #failures: Rates
  #known = new Set<string>()
  /** Reload whose query has not been sent yet. */
  #next: Promise<void> | undefined
  #reloadedAtMs = Number.NEGATIVE_INFINITY

  constructor(sql: Sql, clock: MonotonicClock, refused: Counter) {
    this.#sql = sql
    this.#clock = clock
    this.#refused = refused
    this.#failures = new Rates(FAILED_KEYS, undefined, clock)
  }

  /**
   * Returns the site of the key in a request. Throws `missing_site_key`, `invalid_site_key` or `revoked_site_key`, and
   * `rate_limited` for wrong keys of an address that has sent too many.
   */
  async authenticate(authorization: string | undefined, address: string): Promise<string> {
    const key = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
    if (key === undefined) throw refusal('missing_site_key', 'send the site key as Authorization: Bearer …')
    const siteId = siteIdOfKey(key)
    const keyHash = hashSecret(key)
    const isKnown = siteId !== undefined && (await this.#isKnown(keyHash))
    const state = isKnown ? await siteKeyState(this.#sql, siteId, keyHash) : 'unknown'
    if (siteId === undefined || state === 'unknown') throw this.#wrong(address)
    if (state === 'revoked') throw refusal('revoked_site_key', 'this site key was revoked')
    return siteId
  }

  #wrong(address: string): AppError {
    this.#refused.add('wrong_site_key')
    if (this.#failures.take(addressOwner(address))) return refusal('invalid_site_key', 'this is not a valid site key')
    return new RateLimitedError('too many failed site keys from this address', RETRY_S)
  }

  async #isKnown(keyHash: string): Promise<boolean> {
    if (this.#known.has(keyHash)) return true
    // the key may be new, created perhaps during the last query: all concurrent callers share the next one
    this.#next ??= this.#reload()
    await this.#next
    return this.#known.has(keyHash)
  }

  async #reload(): Promise<void> {
    const restMs = this.#reloadedAtMs + RELOAD_MS - this.#clock.monotonicMs()
    await setTimeout(Math.max(0, restMs))
    this.#next = undefined
    this.#reloadedAtMs = this.#clock.monotonicMs()
    this.#known = new Set(await allSiteKeys(this.#sql))
  }
}

function refusal(code: string, message: string): AppError {
  return new AppError('unauthenticated', code, message)
}
