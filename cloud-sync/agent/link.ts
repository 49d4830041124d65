import { TokenBucket } from '#shared/budgets/token-bucket.ts'
import type { Counter } from '#shared/counter.ts'
import { newUuid } from '#shared/ids.ts'
import type { Log } from '#shared/log.ts'
import type { SyncSourcePort } from '#shared/sync-source.ts'
import type { Clock, MonotonicClock } from '#shared/time.ts'
import { type HelloAnswer, SYNC_PROTOCOL, type SyncLimits, type SyncWarning } from '#shared/wire/replication/sync.ts'
import { Backoff, LONGEST_BACKOFF_MS } from './backoff.ts'
import type { CursorComparison, Cursors, KnownCursors } from './cursors.ts'
import { ForkGuard } from './fork-guard.ts'
import type { Failure, RequestResult } from './request-result.ts'
import type { Upstream } from './upstream.ts'

export type LinkState = 'connecting' | 'up' | 'waiting' | 'refused' | 'other_site' | 'other_machine'

export type AgentClock = Clock & MonotonicClock & { readonly isTrusted: boolean }

/** Record rate of the hub, and what remains of its allowance. */
interface RecordRate {
  readonly perSecond: number
  readonly bucket: TokenBucket
}

interface LinkDeps {
  readonly source: SyncSourcePort
  readonly upstream: Upstream
  readonly cursors: Cursors
  readonly site: string
  readonly program: string
  readonly clock: AgentClock
  readonly random: () => number
  readonly log: Log
  readonly failures: Counter
  readonly longestBackoffMs: number
  readonly heldBy: () => string | null
  /** Called when the hub has answered hello. */
  readonly onUp: () => void
  /** Called when the agent must send hello again, now or soon. */
  readonly onDown: () => void
  /** Called when this database is not the one that was replicated: the hub may lack data that it acknowledged. */
  readonly onDoubt: () => Promise<void>
}

/** Limits that every hub accepts, used until the hub has sent its own. */
const FIRST_LIMITS: SyncLimits = {
  part_bytes: 65_536,
  body_bytes: 262_144,
  parts: 16,
  min_interval_ms: 1000,
  latest_interval_ms: 5000,
}
/** Attempts that never reach the hub put no load on it: a short backoff soon detects that the network is back. */
const LONGEST_LOCAL_MS = 30_000
/** After an outage of the hub this long, all sites have a backlog: each starts randomly within `DRAIN_SPREAD_MS`. */
const LONG_FAILURE_MS = 60_000
const DRAIN_SPREAD_MS = 60_000
/** Slightly less than the hub allows, in smaller bursts, so that requests are never refused. */
const RECORDS_SHARE = 0.95
const RECORDS_BURST_S = 2
const FOREIGN = 'the hub has parts that this database did not send: another gateway uses, or used, the same identity'

/**
 * Protocol connection to the hub: it begins with hello, in which both sides state their positions, and ends with every
 * response that leaves open which data the hub has. Nothing is sent without it.
 */
export class Link {
  readonly instance = newUuid()
  readonly #deps: LinkDeps
  readonly #backoff: Backoff
  readonly #forks: ForkGuard
  #state: LinkState = 'connecting'
  #detail = ''
  #isGreeting = false
  #limits = FIRST_LIMITS
  #records: RecordRate | null = null
  #warnings: readonly SyncWarning[] = []
  #auditsThrough = false
  #helloAtMs = 0
  #busyUntilMs = 0
  #drainAtMs = 0
  #hubFailingSinceMs: number | null = null
  #contact: { atMs: number; monotonicMs: number } | null = null
  #error: { atMs: number; detail: string } | null = null

  constructor(deps: LinkDeps) {
    this.#deps = deps
    this.#backoff = new Backoff(deps.random, { longestMs: deps.longestBackoffMs })
    this.#forks = new ForkGuard(deps.clock)
  }

  get state(): LinkState {
    return this.#state
  }

  /** Reason, as text for staff, why the link is not up. */
  get detail(): string {
    return this.#detail
  }

  get limits(): SyncLimits {
    return this.#limits
  }

  /** True if the hub compares rows up to a time. */
  get auditsThrough(): boolean {
    return this.#auditsThrough
  }

  /** Milliseconds until the hub's record rate allows more. */
  get recordsHoldMs(): number {
    return this.#records?.bucket.waitMs() ?? 0
  }

  /** Deducts records that are about to be sent from the hub's rate. */
  spendRecords(count: number): void {
    this.#records?.bucket.spend(count)
  }

  get warnings(): readonly SyncWarning[] {
    return this.#warnings
  }

  get lastError(): { atMs: number; detail: string } | null {
    return this.#error
  }

  get lastContactMs(): number | null {
    return this.#contact?.atMs ?? null
  }

  /** True if the hub has responded within the last `ms` milliseconds. */
  hasContactWithin(ms: number): boolean {
    return this.#contact !== null && this.#deps.clock.monotonicMs() - this.#contact.monotonicMs <= ms
  }

  /** Milliseconds until the next hello; 0 while the link is up. */
  get retryInMs(): number {
    return this.#state === 'up' ? 0 : Math.max(0, this.#helloAtMs - this.#deps.clock.monotonicMs())
  }

  /** Milliseconds for which nothing may be sent; Infinity until the link is up. */
  get holdMs(): number {
    if (this.#state !== 'up') return Number.POSITIVE_INFINITY
    return Math.max(0, this.#busyUntilMs - this.#deps.clock.monotonicMs())
  }

  /** Milliseconds for which no backlog may be sent; Infinity until the link is up. */
  get drainHoldMs(): number {
    return Math.max(this.holdMs, this.#drainAtMs - this.#deps.clock.monotonicMs())
  }

  /** Sends hello if it is due. Returns the delay until the next step, in ms. */
  async step(signal: AbortSignal): Promise<number> {
    const { source, upstream, cursors, site, heldBy } = this.#deps
    if (this.#state === 'up') return Number.POSITIVE_INFINITY
    const held = heldBy()
    if (held !== null) return this.#beHeld(held)
    if (this.retryInMs > 0 && this.#state !== 'other_machine') return this.retryInMs
    const { site: siteBefore } = source.identity()
    if (siteBefore !== null && siteBefore !== site) return this.#beOtherSite(siteBefore)
    const asked = cursors.known
    this.#isGreeting = true
    try {
      const outcome = await upstream.hello(this.#hello(), signal)
      if (signal.aborted) return 0
      if (outcome.kind !== 'ok') await this.failed(outcome, asked)
      else await this.#agree(outcome.answer, asked)
    } finally {
      this.#isGreeting = false
    }
    return this.state === 'up' ? Number.POSITIVE_INFINITY : this.retryInMs
  }

  succeeded({ limits, warnings }: { limits?: SyncLimits; warnings?: readonly SyncWarning[] }): void {
    this.#recordContact()
    this.#backoff.reset()
    if (limits !== undefined) this.#apply(limits)
    if (warnings !== undefined) this.#warnings = warnings
  }

  /** Records that a request failed. Its sender handles parts that the hub refuses. */
  async failed<Answer>(outcome: Exclude<RequestResult<Answer>, { kind: 'ok' }>, asked: KnownCursors): Promise<void> {
    const { cursors, failures } = this.#deps
    failures.add(outcome.kind === 'retry' ? outcome.reason : outcome.kind)
    if (outcome.kind !== 'retry') this.#recordContact()
    if ('detail' in outcome) this.#note(outcome.detail)
    // another lane has reset the cursors since: the response is out of date
    if (asked.generation !== cursors.known.generation) return
    // each lane gets the same failure; the first one has handled it
    if (this.#state !== 'up' && !this.#isGreeting) return
    switch (outcome.kind) {
      case 'cursor':
        return this.#reconcile(await cursors.reconcile(outcome.cursors, asked))
      case 'unknown_epoch':
        return this.#down('waiting', outcome.detail, this.#backoff.nextMs())
      case 'ahead':
        return this.#fork('restored from a backup: the hub has more data than this database')
      case 'foreign_epoch':
        return this.#down('other_site', outcome.detail, LONGEST_BACKOFF_MS)
      case 'refused':
        return this.#down('refused', outcome.detail, LONGEST_BACKOFF_MS)
      case 'retry':
        return this.#wait(outcome)
      case 'too_large':
      case 'rejected':
        // a refused hello: only an upgrade of the hub helps, so the wait is long
        if (this.#state !== 'up') this.#down('refused', outcome.detail, LONGEST_BACKOFF_MS)
    }
  }

  /** Sends hello again, for example when streams are stuck. */
  renew(reason: string): void {
    if (this.#state === 'up') this.#down('waiting', reason, 0)
  }

  /** Continues as a new epoch, because this database is not the one that was replicated. */
  async fork(reason: string): Promise<void> {
    await this.#fork(reason)
  }

  #hello() {
    const { source, site, program, clock } = this.#deps
    const { epoch, forkedFrom } = source.identity()
    return {
      protocol: SYNC_PROTOCOL,
      site,
      epoch,
      program,
      instance: this.instance,
      forked_from: forkedFrom,
      clock_ms: clock.nowMs(),
      clock_trusted: clock.isTrusted,
      ends: source.ends(),
    }
  }

  async #agree(answer: HelloAnswer, asked: KnownCursors): Promise<void> {
    const { source, cursors, site, clock, random, log } = this.#deps
    this.#recordContact()
    this.#apply(answer.limits)
    this.#warnings = answer.warnings
    this.#auditsThrough = answer.audits_through === true
    if (source.identity().site === null) await source.claim(site)
    const reconciled = await cursors.reconcile(answer.cursors, asked)
    if (reconciled === 'foreign') return this.#fork(FOREIGN)
    const failedMs = this.#hubFailingSinceMs === null ? 0 : clock.monotonicMs() - this.#hubFailingSinceMs
    if (failedMs >= LONG_FAILURE_MS) this.#drainAtMs = clock.monotonicMs() + random() * DRAIN_SPREAD_MS
    this.#hubFailingSinceMs = null
    this.#state = 'up'
    this.#detail = ''
    log.info({ site, epoch: source.identity().epoch }, 'connected to the hub')
    if (reconciled === 'went_back') this.#wentBack()
    this.#deps.onUp()
  }

  #apply(limits: SyncLimits): void {
    this.#limits = limits
    const { records_per_second: perSecond = 0 } = limits
    if (perSecond === (this.#records?.perSecond ?? 0)) return
    const rate = { perSecond: perSecond * RECORDS_SHARE, burst: perSecond * RECORDS_BURST_S }
    this.#records = perSecond === 0 ? null : { perSecond, bucket: new TokenBucket(rate, this.#deps.clock) }
  }

  async #reconcile(reconciled: CursorComparison): Promise<void> {
    if (reconciled === 'foreign') return this.#fork(FOREIGN)
    if (reconciled === 'went_back') this.#wentBack()
  }

  #wentBack(): void {
    this.#deps.log.warn({}, 'the hub lost acknowledged data; sending it again')
  }

  async #fork(reason: string): Promise<void> {
    const { cursors, source, log } = this.#deps
    if (!this.#forks.take()) {
      return this.#down(
        'refused',
        `too many new epochs within an hour, the last because: ${reason}`,
        LONGEST_BACKOFF_MS,
      )
    }
    const { epoch } = source.identity()
    await this.#deps.onDoubt()
    await cursors.fork(reason)
    log.warn({ reason, from: epoch, epoch: source.identity().epoch }, 'started a new replication epoch')
    this.#down('waiting', reason, 0)
  }

  #wait(outcome: Extract<Failure, { kind: 'retry' }>): void {
    const { clock } = this.#deps
    const nowMs = clock.monotonicMs()
    const waitMs = this.#backoff.nextMs(outcome.retryAfterMs, outcome.isLocal ? LONGEST_LOCAL_MS : undefined)
    if (outcome.reason === 'busy' && this.#state === 'up') {
      this.#busyUntilMs = Math.max(this.#busyUntilMs, nowMs + waitMs)
      return
    }
    if (!outcome.isLocal) this.#hubFailingSinceMs ??= nowMs
    this.#down('waiting', outcome.detail, waitMs)
  }

  #beOtherSite(site: string): number {
    const detail = `this database already belongs to site ${site}`
    if (this.#state !== 'other_site') this.#note(detail)
    this.#down('other_site', detail, LONGEST_BACKOFF_MS)
    return LONGEST_BACKOFF_MS
  }

  #beHeld(detail: string): number {
    if (this.#state !== 'other_machine') this.#down('other_machine', detail, LONGEST_BACKOFF_MS)
    return LONGEST_BACKOFF_MS
  }

  #down(state: Exclude<LinkState, 'connecting' | 'up'>, detail: string, waitMs: number): void {
    const { clock, log } = this.#deps
    if (this.#state !== state || state !== 'waiting') log.warn({ state, detail }, 'replication is interrupted')
    this.#state = state
    this.#detail = detail
    this.#helloAtMs = clock.monotonicMs() + waitMs
    this.#deps.onDown()
  }

  #recordContact(): void {
    const { clock } = this.#deps
    this.#contact = { atMs: clock.nowMs(), monotonicMs: clock.monotonicMs() }
  }

  #note(detail: string): void {
    this.#error = { atMs: this.#deps.clock.nowMs(), detail }
  }
}
