import { Rates } from '#shared/budgets/rates.ts'
import { TokenBucket } from '#shared/budgets/token-bucket.ts'
import { Counter } from '#shared/counter.ts'
import { AppError, InvalidRequestError, RateLimitedError } from '#shared/errors.ts'
import type { MonotonicClock } from '#shared/time.ts'
import { inGb } from '#shared/units.ts'
import { SITE_FULL, type SyncStream } from '#shared/wire/replication/sync.ts'

/** Maximum number of pushes of a site that are decoded and stored simultaneously; others of the site wait. */
const PUSHES = 2
/** Maximum number of bodies of a site in flight or in memory: a gateway has one request per lane. */
const BODIES = 8
/** Maximum bytes of these bodies as received: two of the largest, and room for others. */
const BODY_BYTES = 24 << 20
/** Maximum bytes of the bodies of all sites. */
const ALL_BODY_BYTES = 256 << 20
const RETRY_S = 5
/** Burst of records that a site may send after an outage, in seconds of its rate. */
const BURST_S = 5
/** Burst of requests of a site, in seconds of its rate. */
const REQUESTS_BURST_S = 4
/** Streams that a full site may still send: actions of its gateway, also those for the hub, and its configuration. */
const SMALL_STREAMS: readonly SyncStream[] = ['notes', 'entities']
/** Room for these streams above the limit, as a share of the limit. */
const SMALL_SHARE = 0.1

/** Reasons to refuse a request of a gateway, as named by the metrics. */
export const SITE_REFUSALS = [
  'site_requests',
  'site_records',
  'site_bodies',
  'all_bodies',
  'body_timeout',
  'push_too_large',
  'quarantine_full',
  'site_full',
  'wrong_site_key',
] as const
export type SiteRefusal = (typeof SITE_REFUSALS)[number]

interface SiteUse {
  bodies: number
  bodyBytes: number
  pushes: number
  readonly waiting: (() => void)[]
  readonly records: TokenBucket
}

/** Bytes of one body while it is read and used. */
export interface BodyReservation {
  /** Throws if the site, or all sites together, use too many. */
  add(bytes: number): void
  release(): void
}

/**
 * Limits of what one site may cost this hub: requests, records, bodies in memory, concurrent pushes and stored bytes.
 * Whatever one site does, others are refused only if all sites together leave no room for another body.
 */
export class SiteBudgets {
  readonly refused = new Counter(SITE_REFUSALS)
  readonly recordsPerSecond: number
  /** Maximum bytes stored for a site; 0 means no limit. */
  readonly maxBytes: number
  readonly #clock: MonotonicClock
  readonly #requests: Rates
  readonly #sites = new Map<string, SiteUse>()
  #bodyBytes = 0

  /** Rates of 0 mean no limit. */
  constructor(
    clock: MonotonicClock,
    limits: { requestsPerSecond: number; recordsPerSecond: number; maxBytes: number },
  ) {
    const { requestsPerSecond, recordsPerSecond, maxBytes } = limits
    this.#clock = clock
    const allowance = { perSecond: requestsPerSecond, burst: REQUESTS_BURST_S * requestsPerSecond }
    this.#requests = new Rates(allowance, () => this.refused.add('site_requests'), clock)
    this.recordsPerSecond = recordsPerSecond
    this.maxBytes = maxBytes
  }

  /** Counts a request. Throws `rate_limited`. */
  takeRequest(siteId: string): void {
    this.#requests.require(siteId, 'requests of a site')
  }

  /** Reserves room for a body of a site. Throws `rate_limited` if it has too many open ones. */
  reserveBody(siteId: string): BodyReservation {
    const use = this.#of(siteId)
    if (use.bodies >= BODIES)
      throw this.refusal('site_bodies', new RateLimitedError('too many concurrent requests of this site', RETRY_S))
    use.bodies++
    let reserved = 0
    let isReleased = false
    return {
      add: (bytes) => {
        reserved += bytes
        use.bodyBytes += bytes
        this.#bodyBytes += bytes
        if (use.bodyBytes > BODY_BYTES)
          throw this.refusal('site_bodies', new RateLimitedError('too many bytes in flight for this site', RETRY_S))
        if (this.#bodyBytes > ALL_BODY_BYTES) throw this.refusal('all_bodies', busy())
      },
      release: () => {
        if (isReleased) return
        isReleased = true
        use.bodies--
        use.bodyBytes -= reserved
        this.#bodyBytes -= reserved
      },
    }
  }

  /** Runs the work of a push once a slot of its site is free. */
  async inTurn<Result>(siteId: string, work: () => Promise<Result>): Promise<Result> {
    const use = this.#of(siteId)
    if (use.pushes >= PUSHES) await new Promise<void>((resolve) => use.waiting.push(resolve))
    else use.pushes++
    try {
      return await work()
    } finally {
      const next = use.waiting.shift()
      if (next === undefined) use.pushes--
      else next()
    }
  }

  /** Counts the records of a push, into debt if need be. Throws `rate_limited` while the site is in debt. */
  spendRecords(siteId: string, count: number): void {
    const { records } = this.#of(siteId)
    const waitMs = records.waitMs()
    if (waitMs > 0) {
      const words = `this site sends more than ${this.recordsPerSecond} records a second`
      throw this.refusal('site_records', new RateLimitedError(words, Math.max(1, Math.ceil(waitMs / 1000))))
    }
    records.spend(count)
  }

  /** Throws `site_full` for these streams if the site stores this many bytes: the gateway keeps the rest. */
  requireRoom(storedBytes: number, streams: Iterable<SyncStream>): void {
    const isSmall = [...streams].every((stream) => SMALL_STREAMS.includes(stream))
    if (isSmall ? this.hasReserve(storedBytes) : !this.isFull(storedBytes)) return
    throw this.full(`the hub keeps at most ${inGb(this.maxBytes)} of this site, and has that much`)
  }

  isFull(storedBytes: number): boolean {
    return this.maxBytes > 0 && storedBytes >= this.maxBytes
  }

  /** True if there is room for the streams that a full site may still send. */
  hasReserve(storedBytes: number): boolean {
    return !this.isFull(storedBytes / (1 + SMALL_SHARE))
  }

  /** Counts the refusal. The status is one for which gateways of any version hold this stream, and no other. */
  full(words: string): AppError {
    return this.refusal('site_full', new InvalidRequestError(SITE_FULL, words))
  }

  /** Counts a refusal; returns its error. */
  refusal(reason: SiteRefusal, error: AppError): AppError {
    this.refused.add(reason)
    return error
  }

  #of(siteId: string): SiteUse {
    const known = this.#sites.get(siteId)
    if (known !== undefined) return known
    const perSecond = this.recordsPerSecond
    const use: SiteUse = {
      bodies: 0,
      bodyBytes: 0,
      pushes: 0,
      waiting: [],
      records: new TokenBucket({ perSecond, burst: BURST_S * perSecond }, this.#clock),
    }
    this.#sites.set(siteId, use)
    return use
  }
}

function busy(): AppError {
  return new AppError('unavailable', 'busy', 'the hub is handling too many requests; try again later', {
    retryAfterS: RETRY_S,
  })
}
