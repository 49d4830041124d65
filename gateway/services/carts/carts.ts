import type { Events, GatewayEvents } from '#gateway/events.ts'
import { groupByCart } from '#shared/carts/cart-keys.ts'
import { type CartSettings, type CartZoneContext, evaluateCart } from '#shared/carts/cart-state.ts'
import type { MotionSettings } from '#shared/carts/motion.ts'
import { describeError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { SiteSettings } from '#shared/site/settings.ts'
import type { Clock, MonotonicClock } from '#shared/time.ts'
import { toCartReportJson } from '#shared/wire/cart-report.ts'
import type { Store } from '#store/store.ts'
import type { Cart } from '../cart.ts'
import type { Device } from '../fleet.ts'
import type { Site } from '../site.ts'
import type { Geofences } from '../zones/geofences.ts'
import type { CartMember, EvaluationContext } from './cart-member.ts'
import { CartMembers, type MembersDeps } from './cart-members.ts'
import type { CartNotesStore } from './cart-notes-store.ts'
import { CartZones, type DeviceZones } from './cart-zones.ts'
import { isUnchanged, withRevision } from './revision.ts'

interface CartsDeps extends MembersDeps {
  store: Pick<Store, 'read' | 'write' | 'readers'>
  notes: Pick<CartNotesStore, 'load' | 'of' | 'carts' | 'forget'>
  geofences: Pick<Geofences, 'watchedOf'>
  site: Pick<Site, 'settings' | 'tripDefaults'>
  events: Events
  clock: Clock & MonotonicClock & { latestEventMs(nowMs: number): number }
  /** Start time by the current clock. */
  startedAtMs: () => number
  /** Interval of evaluations; shorter after events that users should see soon. A second by default. */
  tickMs?: number | undefined
}

const TICK_MS = 1000
/** Fraction of the interval in that case. */
const HURRIED = 1 / 4
/** Delay that lets one evaluation cover events of the same moment. */
const GATHER_MS = 20
const SAVE_MS = 60_000
/** Clock changes above this make all durations measured before doubtful. */
const CLOCK_SET_MS = 60_000
/** Error that a smaller clock change may cause in the time at which a cart becomes silent. */
const SLEWED_MS = 100

/** Cart with the inputs of its repeated evaluation: its devices, and their zones as long as none of them changes. */
interface Seat extends EvaluationInputs {
  cart: Cart
}

interface EvaluationInputs {
  members: readonly { readonly member: CartMember; readonly zones: DeviceZones }[]
  zoneContext: CartZoneContext
}

/**
 * All carts, evaluated about once a second from the reports of their devices, the zones, the settings and the time.
 * Everything that acts on carts follows `cartsEvaluated`, the only tick. A cart without new reports is evaluated again
 * only when its verdict expires or a common input changes.
 */
export class Carts implements Component {
  readonly #deps: CartsDeps
  readonly #tickMs: number
  readonly #members: CartMembers
  readonly #zones: CartZones
  #seats = new Map<string, Seat>()
  /** In natural order; null after a cart has changed. */
  #all: readonly Cart[] | null = null
  #keys = new Map<string, string>()
  /** True if devices were registered, changed or removed since carts were grouped. */
  #isStale = true
  /** Devices whose name, type, cart or group may have changed since. */
  readonly #changed = new Set<string>()
  #settingsNow: { of: SiteSettings; settings: CartSettings & MotionSettings } | undefined
  /** Context of the last evaluation of all carts; null if it must be repeated. */
  #lastContext: EvaluationContext | null = null
  #evaluatedAtMs = Number.NEGATIVE_INFINITY
  /** True if the clock went back by less than `CLOCK_SET_MS`; changes caused by time may have to be undone. */
  #isTurnedBack = false
  #tickedAtMs = Number.NEGATIVE_INFINITY
  #savedMs = 0
  #timer: NodeJS.Timeout | undefined
  #timerDueMs = Number.POSITIVE_INFINITY
  #isRunning = false
  /** Clock time minus monotonic time; changes only when the clock is set. */
  #offsetMs: number
  #clockSetMs: number | null = null
  #lastRevision = 0

  constructor(deps: CartsDeps) {
    this.#deps = deps
    this.#tickMs = deps.tickMs ?? TICK_MS
    this.#offsetMs = this.#clockOffsetMs()
    this.#members = new CartMembers(deps)
    this.#zones = new CartZones(deps.geofences)
  }

  async start(): Promise<void> {
    const { clock } = this.#deps
    this.#listen()
    this.#deps.notes.load()
    await this.#members.load(this.#context(clock.nowMs()))
    this.#savedMs = clock.monotonicMs()
    this.#isRunning = true
    this.#evaluateAll()
    // their last device was deleted right before a stop
    for (const key of this.#deps.notes.carts()) if (!this.#seats.has(key)) this.#deps.notes.forget(key)
    this.#schedule(GATHER_MS)
  }

  async stop(): Promise<void> {
    if (!this.#isRunning) return
    this.#isRunning = false
    clearTimeout(this.#timer)
    // includes everything received since the last tick
    this.#evaluateAll()
    await this.#save()
  }

  /** Carts in natural order, as of their last evaluation. */
  get all(): readonly Cart[] {
    if (this.#isStale) this.#evaluateAll()
    this.#all ??= Array.from(this.#seats.values(), ({ cart }) => cart)
    return this.#all
  }

  allNow(): readonly Cart[] {
    this.#evaluateAll()
    return this.all
  }

  find(key: string): Cart | undefined {
    if (this.#isStale) this.#evaluateAll()
    return this.#seats.get(key)?.cart
  }

  of(hardwareId: string): Cart | undefined {
    if (this.#isStale) this.#evaluateAll()
    const key = this.#keys.get(hardwareId)
    return key === undefined ? undefined : this.#seats.get(key)?.cart
  }

  /** Returns a device's report about its cart for the hub; that of the lock includes the time of the automatic lock. */
  reportJson(hardwareId: string, autoLockAtMs: (cart: Cart) => number | null): object | undefined {
    const cart = this.of(hardwareId)
    const report = cart?.deviceReports.find((one) => one.hardwareId === hardwareId)
    if (cart === undefined || report === undefined) return undefined
    const isLock = cart.verdict.lock?.hardwareId === hardwareId
    return toCartReportJson(report, cart.zoneContext, isLock ? autoLockAtMs(cart) : null)
  }

  evaluateNow(cart: Cart): Cart {
    if (this.#isStale) this.#evaluateAll()
    this.#noticeZones()
    const seat = this.#seats.get(cart.key)
    if (seat === undefined) return this.#evaluate(cart.key, cart.devices, this.#inputsOf(cart.devices), this.#context())
    const known = seat.cart
    if (this.#reevaluate(seat, this.#context()) && !isShownSame(known, seat.cart)) this.#publish(seat.cart)
    return seat.cart
  }

  /** Returns the cart evaluated from its visible devices only; null without any. */
  seenBy(cart: Cart, canSee: (hardwareId: string) => boolean): Cart | null {
    const isSeen = cart.devices.map(({ row }) => canSee(row.hardwareId))
    if (isSeen.every((seen) => seen)) return cart
    const devices = cart.devices.filter((_, i) => isSeen[i])
    if (devices.length === 0) return null
    const zoneContext = this.#zones.zoneContextOf(devices)
    const deviceReports = cart.deviceReports
      .filter((_, i) => isSeen[i])
      .map((one) => ({ ...one, stays: this.#zones.among(one.stays, devices) }))
    return {
      ...cart,
      devices,
      deviceReports,
      zoneContext,
      verdict: evaluateCart(deviceReports, zoneContext, this.#settings(), this.#context()),
    }
  }

  /** Evaluates all carts and emits `cartsEvaluated`; runs on a timer. */
  tick(): void {
    const { clock, events, log } = this.#deps
    try {
      this.#noticeClock()
      const nowMs = this.#evaluateAll()
      events.emit('cartsEvaluated', { carts: this.all, nowMs })
      if (clock.monotonicMs() - this.#savedMs >= SAVE_MS) void this.#save()
    } catch (error) {
      log.error({ reason: describeError(error) }, 'cart evaluation failed')
    }
    this.#tickedAtMs = performance.now()
    this.#timerDueMs = Number.POSITIVE_INFINITY
    this.#schedule(this.#tickMs)
  }

  /** Reports a change of a cart's notes or alerts, which clients see with the cart. */
  touch(key: string): void {
    if (this.#isStale) this.#evaluateAll()
    this.#noticeZones()
    const seat = this.#seats.get(key)
    if (seat === undefined) return
    seat.cart = this.#evaluate(key, seat.cart.devices, seat, this.#context(), seat.cart)
    this.#all = null
    this.#hurry()
    this.#deps.events.emit('cartChanged', { cart: seat.cart, leftIds: [] })
  }

  #listen(): void {
    const { events } = this.#deps
    events.on('sampled', (event) => this.#sampled(event))
    events.on('lockChanged', (event) => {
      this.#members.takeLockReport(event)
      this.#hurry()
    })
    events.on('deviceClockJudged', ({ hardwareId }) => this.#members.clockJudged(hardwareId, this.#deps.clock.nowMs()))
    events.on('zoneCrossed', (event) => {
      this.#members.crossed(event)
      this.#hurry()
    })
    events.on('erased', ({ table }) => {
      if (table === 'lock_event') this.#members.rereadLocks(this.#context())
      if (table === 'cart_note') this.#deps.notes.load()
      this.#hurry()
    })
    for (const name of ['presenceChanged', 'siteChanged', 'zonesChanged'] as const) events.on(name, () => this.#hurry())
    events.on('deviceRemoved', () => {
      this.#isStale = true
      // immediately, because clients lose their subscription to the removed device a moment later
      if (this.#isRunning) this.#evaluateAll()
    })
    for (const name of ['deviceRegistered', 'deviceChanged', 'groupChanged'] as const)
      events.on(name, ({ hardwareId }) => {
        this.#isStale = true
        this.#changed.add(hardwareId)
        this.#hurry()
      })
  }

  #sampled({ device, numbers, isInOrder, latestMs }: GatewayEvents['sampled']): void {
    this.#members.of(device).take(numbers, isInOrder, this.#settings(), latestMs)
  }

  /** Brings the next tick forward after an event that users should see soon. */
  #hurry(): void {
    if (!this.#isRunning) return
    const sinceMs = performance.now() - this.#tickedAtMs
    this.#schedule(Math.max(GATHER_MS, HURRIED * this.#tickMs - sinceMs))
  }

  #schedule(inMs: number): void {
    const dueMs = performance.now() + inMs
    if (!this.#isRunning || dueMs >= this.#timerDueMs) return
    clearTimeout(this.#timer)
    this.#timerDueMs = dueMs
    this.#timer = setTimeout(() => this.tick(), inMs).unref()
  }

  /** Restarts standstill and dwells after the clock was set. */
  #noticeClock(): void {
    const offsetMs = this.#clockOffsetMs()
    const isSet = Math.abs(offsetMs - this.#offsetMs) > CLOCK_SET_MS
    this.#offsetMs = offsetMs
    if (!isSet) return
    // messages received since the last tick are from before the change
    this.#evaluateAll()
    const nowMs = this.#deps.clock.nowMs()
    this.#clockSetMs = nowMs
    for (const member of this.#members.all()) member.startAgain(nowMs)
  }

  #clockOffsetMs(): number {
    const { clock } = this.#deps
    return clock.nowMs() - clock.monotonicMs()
  }

  /** Evaluates all carts and returns the time of the evaluation. */
  #evaluateAll(): number {
    const context = this.#context()
    if (this.#isStale) this.#regroup(context)
    else {
      this.#noticeZones()
      const isOther = !this.#isContextUnchanged(context)
      const news: Cart[] = []
      for (const seat of this.#seats.values()) {
        if (!isOther && this.#holds(seat, context)) continue
        const known = seat.cart
        if (this.#reevaluate(seat, context) && !isShownSame(known, seat.cart)) news.push(seat.cart)
      }
      if (isOther) this.#lastContext = context
      this.#isTurnedBack = false
      for (const cart of news) this.#publish(cart)
    }
    return context.nowMs
  }

  #regroup(context: EvaluationContext): void {
    const { fleet } = this.#deps
    const before = this.#seats
    this.#isStale = false
    this.#members.keep(fleet.all())
    this.#zones.takeChange()
    const seats = new Map<string, Seat>()
    for (const [key, grouped] of groupByCart(fleet.all().map(toCarted))) {
      const devices = grouped.map(({ device }) => device)
      const inputs = this.#inputsOf(devices)
      const cart = this.#evaluate(key, devices, inputs, context, before.get(key)?.cart)
      seats.set(key, { cart, ...inputs })
    }
    this.#seats = seats
    this.#all = null
    this.#lastContext = context
    this.#isTurnedBack = false
    this.#keys = keysOf(this.all)
    if (!this.#isRunning) return
    this.#publishChanges(before)
    this.#publishRemoved(before)
  }

  /** True if the common inputs of all carts are unchanged, except for the elapsed time. */
  #isContextUnchanged({ nowMs, latestMs, settings, clockSetMs, startedAtMs }: EvaluationContext): boolean {
    const by = this.#lastContext
    return (
      by !== null &&
      !this.#isTurnedBack &&
      settings === by.settings &&
      clockSetMs === by.clockSetMs &&
      Math.abs(startedAtMs - by.startedAtMs) < SLEWED_MS &&
      // while the clock is not trusted, any event time is accepted
      (latestMs === by.latestMs || latestMs - nowMs === by.latestMs - by.nowMs)
    )
  }

  /** True if an evaluation would give the same result: nothing was received, and its verdict has not expired. */
  #holds({ cart: { key, deviceReports, verdict, notes }, members }: Seat, { nowMs }: EvaluationContext): boolean {
    for (let i = 0; i < members.length; i++)
      if (members[i]?.member.isReportCurrent(deviceReports[i]) !== true) return false
    return this.#deps.notes.of(key, nowMs) === notes && nowMs < verdict.holdsUntilMs
  }

  #publishChanges(before: ReadonlyMap<string, Seat>): void {
    for (const { cart } of this.#seats.values()) {
      const known = before.get(cart.key)?.cart
      const isOther = cart.devices.some(({ row }) => this.#changed.has(row.hardwareId))
      if (known === undefined || isOther || !isShownSame(known, cart))
        this.#deps.events.emit('cartChanged', { cart, leftIds: leftOf(known, cart) })
    }
    this.#changed.clear()
  }

  #publish(cart: Cart): void {
    if (this.#isRunning) this.#deps.events.emit('cartChanged', { cart, leftIds: [] })
  }

  #publishRemoved(before: ReadonlyMap<string, Seat>): void {
    const { events } = this.#deps
    for (const {
      cart: { key, devices },
    } of before.values()) {
      if (this.#seats.has(key)) continue
      events.emit('cartRemoved', { key, hardwareIds: devices.map(({ row }) => row.hardwareId) })
      this.#deps.notes.forget(key)
    }
  }

  /** Evaluates a cart again. Returns true if anything changed; an unchanged cart keeps its object. */
  #reevaluate(seat: Seat, context: EvaluationContext): boolean {
    const { key, devices } = seat.cart
    const evaluated = this.#evaluate(key, devices, seat, context, seat.cart)
    if (isUnchanged(seat.cart, evaluated)) return false
    seat.cart = evaluated
    this.#all = null
    return true
  }

  #evaluate(
    key: string,
    devices: readonly Device[],
    { members, zoneContext }: EvaluationInputs,
    context: EvaluationContext,
    known?: Cart,
  ): Cart {
    const deviceReports = members.map(({ member, zones }) => member.report(zones, context))
    const verdict = evaluateCart(deviceReports, zoneContext, context.settings, context)
    const notes = this.#deps.notes.of(key, context.nowMs)
    return withRevision(known, { key, devices, deviceReports, zoneContext, verdict, notes }, ++this.#lastRevision)
  }

  #noticeZones(): void {
    if (!this.#zones.takeChange()) return
    this.#lastContext = null
    for (const seat of this.#seats.values()) Object.assign(seat, this.#inputsOf(seat.cart.devices))
  }

  #inputsOf(devices: readonly Device[]): EvaluationInputs {
    const members = devices.map((device) => ({
      member: this.#members.of(device),
      zones: this.#zones.of(device, devices),
    }))
    return { members, zoneContext: this.#zones.zoneContextOf(devices) }
  }

  #settings(): CartSettings & MotionSettings {
    const { settings: of } = this.#deps.site
    if (this.#settingsNow?.of === of) return this.#settingsNow.settings
    const { pack, restAfterS, silentAfterS, silentOnCourseAfterS } = of
    const settings = {
      pack,
      restAfterS,
      silentAfterS,
      silentOnCourseAfterS,
      movingKmh: this.#deps.site.tripDefaults.speedThreshold,
    }
    this.#settingsNow = { of, settings }
    return settings
  }

  #context(nowMs = this.#deps.clock.nowMs()): EvaluationContext {
    if (nowMs < this.#evaluatedAtMs) this.#isTurnedBack = true
    this.#evaluatedAtMs = nowMs
    const latestMs = this.#deps.clock.latestEventMs(nowMs)
    const startedAtMs = Math.max(this.#deps.startedAtMs(), this.#clockSetMs ?? 0)
    return { nowMs, latestMs, settings: this.#settings(), clockSetMs: this.#clockSetMs, startedAtMs }
  }

  async #save(): Promise<void> {
    const { store, clock, log } = this.#deps
    this.#savedMs = clock.monotonicMs()
    const news = this.#members.news()
    if (news.length === 0) return
    try {
      const rows = news.map(({ member, text }) => ({ deviceId: member.device.row.deviceId, motion: text }))
      await store.write('saveCartMotions', { rows })
      for (const { member, text } of news) member.isKept(text)
    } catch (error) {
      log.warn({ reason: describeError(error) }, 'cart motion save failed; will retry in a minute')
    }
  }
}

function isShownSame(known: Cart, cart: Cart): boolean {
  return known.revision.shown === cart.revision.shown
}

/** Adds the fields that decide the cart of a device. */
function toCarted(device: Device) {
  const { hardwareId, name, cart } = device.row
  return { hardwareId, name, cart, device }
}

function keysOf(carts: readonly Cart[]): Map<string, string> {
  return new Map(carts.flatMap(({ key, devices }) => devices.map(({ row }) => [row.hardwareId, key] as const)))
}

function leftOf(known: Cart | undefined, { devices }: Cart): string[] {
  if (known === undefined || known.devices === devices) return []
  return known.devices.filter((device) => !devices.includes(device)).map(({ row }) => row.hardwareId)
}
