import { type Caller, visibleHardwareIds } from '#domain/access.ts'
import { type Alert, canSeeAlert, seesSiteKind } from '#domain/alert.ts'
import type { ClockState } from '#domain/clock-state.ts'
import type { Downlink } from '#domain/downlink.ts'
import type { Events } from '#gateway/events.ts'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { describeError, ForbiddenError, InvalidRequestError, NotFoundError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import type { SyncStatus } from '#shared/sync-status.ts'
import { type Clock, MINUTE_MS, type MonotonicClock } from '#shared/time.ts'
import type { CertificateStatus } from '#shared/tls.ts'
import { ALERT_KINDS, type AlertKind, isSiteKind } from '#shared/wire/alert-kinds.ts'
import type { Store } from '#store/store.ts'
import type { AlertQuery, ClosedDay, StoredAlert } from '#store/tables/alerts.ts'
import type { Cart } from '../cart.ts'
import type { Commands } from '../commands/commands.ts'
import type { Site } from '../site.ts'
import type { DiskUse } from '../telemetry/disk-guard.ts'
import { AlertWriter, type SaveAlerts } from './alert-writer.ts'
import { Arrived } from './arrived.ts'
import { CallAlerts, replyToCall } from './call-alerts.ts'
import { evaluateCart, evaluateRemoved, evaluateSite, type Findings, type FoundChange, noFindings } from './findings.ts'
import { BRAKE_MS, OpenAlerts } from './open-alerts.ts'
import { PinAlerts } from './pin-alerts.ts'
import { RecentHistory } from './recent-history.ts'
import type { RuleResult } from './rule.ts'
import { type CartAlertState, resetTimers } from './rule-state.ts'
import { type CourseFacts, closedDayAt, type SiteContext, siteContextOf } from './site-context.ts'
import { isWell, type SiteFacts } from './site-rules.ts'
import { isContextUnchanged, recordEvaluation } from './skip-unchanged.ts'

export interface AlertsDeps {
  store: Pick<Store, 'read' | 'write'> & { readers: Pick<Store['readers'], 'run'> }
  events: Events
  clock: Clock & MonotonicClock
  log: Log
  downlink: Pick<Downlink, 'prepare'>
  site: Pick<Site, 'settings' | 'calendar'>
  carts: CartList
  course: CourseFacts
  commands: Pick<Commands, 'createForEach'>
  users: { find(userId: string): { row: { name: string } } | undefined }
  clockConfirmation: { readonly state: ClockState }
  diskGuard: { readonly use: DiskUse }
  backups: { readonly overdue: RuleResult; readonly status: { lastGoodMs: number | null } | null }
  /** Undefined without TLS. */
  certificate: { readonly status: CertificateStatus } | undefined
  /** Undefined without a hub. */
  sync: { readonly status: Pick<SyncStatus, 'state' | 'lastContactMs'> } | undefined
}

export interface CartList {
  find(key: string): Cart | undefined
  of(hardwareId: string): Cart | undefined
}

type Person = NonNullable<Alert['acknowledgedBy']>

/** A clock that deviates from the elapsed monotonic time by more than this was set. */
const CLOCK_SET_MS = MINUTE_MS
const SITE_KINDS = ALERT_KINDS.filter(isSiteKind)

/**
 * Opens and closes alerts. After each evaluation of the carts, pure rules (`cart-rules.ts`, `site-rules.ts`) decide
 * which conditions hold and which are over (`findings.ts`). The findings are written in one transaction with their
 * messages (`alert-writer.ts`), and only then change the state in memory (`open-alerts.ts`). The next evaluation
 * repeats a finding whose write failed.
 */
export class Alerts implements Component {
  readonly #deps: AlertsDeps
  readonly #book = new OpenAlerts()
  readonly #writer: AlertWriter
  readonly #history: RecentHistory
  readonly #pins: PinAlerts
  readonly #calls: CallAlerts
  readonly #arrived: Arrived
  readonly #turns = new SerialQueue()
  /** Writes in progress; until they end, an evaluation could find the same changes again. */
  #underWay = 0
  #isRunning = false
  #hasFailed = false
  /** Context of the previous evaluation. */
  #context: SiteContext | null = null
  #closedDay: ClosedDay | null = null
  #writtenDay: ClosedDay | null = null
  /** Removed carts whose alerts are not closed yet. */
  readonly #removed = new Set<string>()
  #countFromMs = Number.NEGATIVE_INFINITY
  /** Clock time minus monotonic time. */
  #offsetMs: number | undefined
  #confirmedAtMonotonicMs: number
  #wellAtMonotonicMs: number
  #renewableAtMonotonicMs: number

  constructor(deps: AlertsDeps) {
    this.#deps = deps
    this.#writer = new AlertWriter({ ...deps, book: this.#book })
    this.#history = new RecentHistory({ readers: deps.store.readers, log: deps.log })
    this.#pins = new PinAlerts({ users: deps.users, book: this.#book, clock: deps.clock })
    this.#calls = new CallAlerts({ ...deps, book: this.#book })
    this.#arrived = new Arrived(deps.events)
    this.#confirmedAtMonotonicMs = deps.clock.monotonicMs()
    this.#wellAtMonotonicMs = deps.clock.monotonicMs()
    this.#renewableAtMonotonicMs = deps.clock.monotonicMs()
    deps.events.on('cartsEvaluated', ({ carts, nowMs }) => this.#evaluate(carts, nowMs))
    deps.events.on('cartRemoved', ({ key }) => {
      this.#removed.add(key)
      this.#book.forgetCart(key)
    })
    deps.events.on('erased', ({ table }) => {
      if (table === 'alert') this.#reread()
    })
    for (const name of ['idContested', 'deviceClockJudged'] as const)
      deps.events.on(name, ({ hardwareId }) => {
        const cart = deps.carts.of(hardwareId)
        if (cart !== undefined) this.#book.wake(cart.key)
      })
    deps.events.on('called', () => this.#calls.called())
    deps.events.on('servicesJudged', ({ carts }) => {
      for (const key of carts) this.#book.wake(key)
    })
    deps.events.on('pinLocked', ({ userId, lockedMs }) => this.#pins.locked(userId, lockedMs))
  }

  load(): void {
    const { store, clock } = this.#deps
    this.#book.load(store.read.liveAlerts(clock.nowMs() - BRAKE_MS))
    this.#closedDay = store.read.closedDay() ?? null
    this.#writtenDay = this.#closedDay
    this.#calls.load()
    this.#writer.load()
  }

  /** Runs after the start of the broker, because findings are published. */
  async start(): Promise<void> {
    this.#isRunning = true
  }

  async stop(): Promise<void> {
    this.#isRunning = false
    await this.settle()
  }

  /** Resolves when all findings and requests so far are written or have failed. */
  async settle(): Promise<void> {
    await this.#history.idle()
    await this.#turns.idle()
  }

  get opened() {
    return this.#writer.opened
  }

  /** Returns the alerts of a kind that are not closed, oldest first. */
  notClosedOf(kind: AlertKind): StoredAlert[] {
    return this.#book.notClosed().filter((alert) => alert.kind === kind)
  }

  openCounts(): [kind: AlertKind, count: number][] {
    return ALERT_KINDS.map((kind) => [kind, this.#book.countOpen(kind)])
  }

  /** Returns the ids of a cart's alerts that are not closed, oldest first; the same array while nothing changes. */
  openAlertIdsOf(key: string): readonly string[] {
    return this.#book.openIdsOf(key)
  }

  /** Returns all alerts that are not closed and that the caller may see, oldest first. */
  notClosedFor(caller: Caller): Alert[] {
    return this.#book.notClosed().filter((alert) => this.maySee(caller, alert))
  }

  maySee(caller: Caller, alert: Pick<Alert, 'kind' | 'cart' | 'hardwareId'>): boolean {
    const cart = alert.cart === null ? undefined : this.#deps.carts.find(alert.cart)
    return canSeeAlert(caller, alert, cart?.devices.map(({ row }) => row.hardwareId) ?? [])
  }

  mayRead(caller: Caller, kind: string, cart: string): boolean {
    if (isSiteKind(kind)) return seesSiteKind(caller, kind)
    // after a cart is removed, callers who could see its device may still read that its alert is over
    const hardwareIds = this.#book.ofCart(cart).flatMap(({ hardwareId }) => hardwareId ?? [])
    const devices = this.#deps.carts.find(cart)?.devices.map(({ row }) => row.hardwareId)
    return canSeeAlert(caller, { kind: 'outside', hardwareId: null }, devices ?? hardwareIds)
  }

  scopeOf(caller: Caller): Pick<AlertQuery, 'visible' | 'siteKinds'> {
    const siteKinds = SITE_KINDS.filter((kind) => seesSiteKind(caller, kind))
    const hardwareIds = visibleHardwareIds(caller)
    if (hardwareIds === undefined) return { siteKinds }
    const carts = new Set(hardwareIds.flatMap((id) => this.#deps.carts.of(id)?.key ?? []))
    return { siteKinds, visible: { carts: [...carts], hardwareIds } }
  }

  /** Throws `alert_not_found`, or without access `cart_forbidden`, `staff_required` or `admin_required`. */
  requireVisible(caller: Caller, alertId: string): StoredAlert {
    const alert = this.#deps.store.read.alert(alertId)
    if (alert === undefined) throw new NotFoundError('alert_not_found', `there is no alert ${alertId}`)
    if (this.maySee(caller, alert)) return alert
    if (alert.kind === 'pin_locked') throw new ForbiddenError('admin_required', 'only admins can see this alert')
    if (isSiteKind(alert.kind))
      throw new ForbiddenError('staff_required', 'only staff and admins can see alerts of the site')
    throw new ForbiddenError('cart_forbidden', `cart ${alert.cart} is outside your scope`)
  }

  /**
   * Acknowledges an alert, or adds the note that its first acknowledgement lacks. A call is answered on the screens of
   * its cart, again for each `reply`. Throws as `requireVisible` does.
   */
  acknowledge(
    caller: () => Caller,
    alertId: string,
    by: Person,
    note: string | null,
    reply: string | null = null,
  ): Promise<Alert> {
    return this.#change(caller, alertId, reply, (alert) => {
      const isKnown = alert.acknowledgedAtMs !== null
      if (isKnown && reply === null && (note === null || alert.note !== null)) return null
      const first = isKnown ? {} : { acknowledgedBy: by, acknowledgedAtMs: this.#deps.clock.nowMs() }
      const acknowledged = { ...alert, ...first, note: note ?? alert.note }
      return { event: 'acknowledged', alert: acknowledged, byUserId: by.userId }
    })
  }

  /** Closes an alert; it opens again only after its condition was over once. Throws as `requireVisible` does. */
  close(
    caller: () => Caller,
    alertId: string,
    by: Person,
    note: string | null,
    reply: string | null = null,
  ): Promise<Alert> {
    return this.#change(caller, alertId, reply, (alert) => {
      if (alert.closedAtMs !== null) return null
      const closedAtMs = Math.max(this.#deps.clock.nowMs(), alert.openedAtMs)
      const closed = { ...alert, closedAtMs, awaitsEnd: alert.kind !== 'call', note: note ?? alert.note }
      return { event: 'closed', alert: closed, byUserId: by.userId }
    })
  }

  #change(
    callerNow: () => Caller,
    alertId: string,
    reply: string | null,
    change: (alert: StoredAlert) => FoundChange | null,
  ): Promise<Alert> {
    return this.#inTurn(async () => {
      const caller = callerNow()
      const before = this.requireVisible(caller, alertId)
      if (reply !== null && before.kind !== 'call') throw noReply()
      const found = change(before)
      if (found === null) return before
      const { details } = found.alert
      if (reply !== null) found.alert = { ...found.alert, details: { ...details, reply } }
      const hasNews =
        reply !== null || found.event === 'closed' || (before.acknowledgedAtMs === null && before.closedAtMs === null)
      const write = before.kind === 'call' && hasNews ? this.#withReply(found.alert, reply, caller) : undefined
      await this.#writer.save({ ...noFindings(), changes: [found] }, null, write)
      return this.requireVisible(callerNow(), alertId)
    })
  }

  /** Stores the reply to a call with the change of its alert: screens get what the app shows, or neither happens. */
  #withReply(alert: StoredAlert, reply: string | null, { userId }: Caller): SaveAlerts {
    const { carts, commands, site } = this.#deps
    const devices = (alert.cart !== null && carts.find(alert.cart)?.devices) || []
    const hardwareIds = devices.map(({ row }) => row.hardwareId)
    return (input, onWritten) =>
      commands.createForEach(hardwareIds, replyToCall(alert, reply, site.settings), {
        caller: { userId, role: 'staff', allowedHardwareIds: null },
        also: () => ({ name: 'saveAlerts', input }),
        onWritten: () => onWritten(input.changes.map(({ event, alert }) => ({ event, alert, isNew: true }))),
      })
  }

  /** Reads the alerts again after an erasure, so that retained messages lose the erased data too. */
  #reread(): void {
    for (const { alertId } of this.#book.all()) {
      const alert = this.#deps.store.read.alert(alertId)
      if (alert !== undefined) this.#book.put(alert)
    }
    this.#writer.load()
  }

  /** Evaluates all carts and the site, and writes the findings. */
  #evaluate(carts: readonly Cart[], nowMs: number): void {
    const context = this.#contextAt(nowMs)
    const isIdle = this.#isRunning && this.#underWay === 0
    const found = noFindings()
    const isUnchanged = isContextUnchanged(this.#context, context)
    this.#context = context
    for (const cart of carts) {
      const one = this.#book.caseOf(cart)
      if (!recordEvaluation(one, cart, isUnchanged, context, this.#arrived)) continue
      this.#history.readDue(one, context)
      if (isIdle && !this.#removed.has(cart.key)) this.#evaluateCart(one, context, found)
    }
    this.#arrived.clear()
    const facts = this.#siteFacts()
    if (!isIdle) return
    evaluateSite(this.#book, facts, nowMs, found)
    this.#pins.evaluate(nowMs, found)
    this.#calls.evaluate(nowMs, found)
    this.#evaluateRemoved(nowMs, found)
    if (countOf(found) === 0 && this.#closedDay === this.#writtenDay && !this.#writer.hasUnpublished) return
    void this.#inTurn(() => this.#save(found))
  }

  #evaluateCart(one: CartAlertState, context: SiteContext, found: Findings): void {
    const before = countOf(found)
    evaluateCart(this.#book, one, context, found)
    // findings are written, or found again by the next evaluation
    if (countOf(found) === before) this.#book.rest(one, context)
  }

  #evaluateRemoved(nowMs: number, found: Findings): void {
    for (const key of this.#book.carts()) {
      const isGone = key !== null && (this.#removed.has(key) || this.#deps.carts.find(key) === undefined)
      if (isGone) evaluateRemoved(this.#book, key, nowMs, found)
    }
    // if the write fails, later evaluations find these carts by their absence
    this.#removed.clear()
  }

  /** Never rejects: the next evaluation repeats findings that could not be written. */
  async #save(found: Findings): Promise<void> {
    const { log } = this.#deps
    const closedDay = this.#closedDay
    try {
      await this.#writer.save(found, closedDay === this.#writtenDay ? null : closedDay)
      this.#writtenDay = closedDay
      this.#hasFailed = false
      for (const { event, alert } of found.changes)
        log.info({ kind: alert.kind, cart: alert.cart, event }, 'alert changed')
    } catch (error) {
      if (!this.#hasFailed) log.warn({ reason: describeError(error) }, 'alert write failed; will retry every second')
      this.#hasFailed = true
    }
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#underWay++
    return this.#turns.take(work).finally(() => {
      this.#underWay--
    })
  }

  #contextAt(nowMs: number): SiteContext {
    const { clock, site, clockConfirmation, course } = this.#deps
    const offsetMs = nowMs - clock.monotonicMs()
    if (this.#offsetMs !== undefined && Math.abs(offsetMs - this.#offsetMs) > CLOCK_SET_MS) {
      this.#countFromMs = nowMs
      for (const { memory } of this.#book.cases()) resetTimers(memory)
    }
    this.#offsetMs = offsetMs
    const { settings, calendar } = site
    const isClockConfirmed = clockConfirmation.state === 'confirmed'
    const now = { nowMs, settings, calendar, isClockConfirmed, countFromMs: this.#countFromMs, course }
    this.#closedDay = closedDayAt({ ...now, closedDay: this.#closedDay })
    return siteContextOf({ ...now, closedDay: this.#closedDay })
  }

  #siteFacts(): SiteFacts {
    const { clock, clockConfirmation, diskGuard, sync, backups, certificate } = this.#deps
    const monotonicMs = clock.monotonicMs()
    const { state } = clockConfirmation
    if (state === 'confirmed') this.#confirmedAtMonotonicMs = monotonicMs
    const status = sync?.status
    if (status === undefined || isWell(status.state)) this.#wellAtMonotonicMs = monotonicMs
    const shown = certificate?.status
    if (shown?.problem == null) this.#renewableAtMonotonicMs = monotonicMs
    return {
      disk: diskGuard.use,
      backup: { overdue: backups.overdue, lastGoodMs: backups.status?.lastGoodMs ?? null },
      clock: { state, unconfirmedMs: monotonicMs - this.#confirmedAtMonotonicMs },
      certificate:
        shown === undefined
          ? null
          : {
              expiresAtMs: shown.expiresAtMs,
              leftMs: shown.expiresAtMs - clock.nowMs(),
              troubleMs: monotonicMs - this.#renewableAtMonotonicMs,
            },
      sync:
        status === undefined
          ? null
          : {
              state: status.state,
              lastContactMs: status.lastContactMs,
              unwellMs: monotonicMs - this.#wellAtMonotonicMs,
            },
    }
  }
}

function countOf({ changes, ended, idleCallSeqs }: Findings): number {
  return changes.length + ended.length + idleCallSeqs.length
}

function noReply(): InvalidRequestError {
  const detail = 'only a call from a cart has a reply'
  return new InvalidRequestError('invalid_field', `reply: ${detail}`, [
    { in: 'body', name: 'reply', code: 'invalid_field', detail },
  ])
}
