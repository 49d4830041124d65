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
  /** By the clock as it is now. */
  startedAtMs: () => number
  /** All carts are judged so often, sooner when something happened that people are to hear of; a second unless told. */
  tickMs?: number | undefined
}

const TICK_MS = 1000
/** This part of it when it is sooner. */
const HURRIED = 1 / 4
/** What happens together is judged together. */
const GATHER_MS = 20
const SAVE_MS = 60_000
/** Whoever sets a clock by more makes all that was counted by it doubtful. */
const CLOCK_SET_MS = 60_000
/** A clock that is set by less may say this much earlier or later when a cart is silent. */
const SLEWED_MS = 100

/**
 * A cart with what it is judged by again and again: its devices, and the zones of each as long as none of them is
 * another.
 */
interface Seat extends SeatGround {
  cart: Cart
}

interface SeatGround {
  members: readonly { readonly member: CartMember; readonly zones: DeviceZones }[]
  ground: CartZoneContext
}

/**
 * All carts, judged about once a second by what their devices said, the zones, the settings and the time. Whatever acts
 * on carts goes by `cartsJudged`: it is the one heartbeat. A cart of which nothing was heard is judged again only when
 * its verdict says that time changes it, or when what all are judged by is another.
 */
export class Carts implements Component {
  readonly #deps: CartsDeps
  readonly #tickMs: number
  readonly #members: CartMembers
  readonly #zones: CartZones
  #seats = new Map<string, Seat>()
  /** In natural order; null while one of them is another than it was. */
  #all: readonly Cart[] | null = null
  #keys = new Map<string, string>()
  /** The register of devices has changed since carts were put together. */
  #isStale = true
  /** Devices whose name, type, cart or group may be another since. */
  readonly #changed = new Set<string>()
  #settingsNow: { of: SiteSettings; settings: CartSettings & MotionSettings } | undefined
  /** By what all carts were judged last; null while they have not been. */
  #judgedBy: EvaluationContext | null = null
  #lookedMs = Number.NEGATIVE_INFINITY
  /** The clock went back by less than makes it doubtful: what time had changed may be as before. */
  #isTurnedBack = false
  #beatMs = Number.NEGATIVE_INFINITY
  #savedMs = 0
  #timer: NodeJS.Timeout | undefined
  #timerDueMs = Number.POSITIVE_INFINITY
  #isRunning = false
  /** Clock less monotonic clock: it changes only when the clock is set. */
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
    await this.#members.load(this.#look(clock.nowMs()))
    this.#savedMs = clock.monotonicMs()
    this.#isRunning = true
    this.#judgeAll()
    // whose last device was deleted right before a stop
    for (const key of this.#deps.notes.carts()) if (!this.#seats.has(key)) this.#deps.notes.forget(key)
    this.#schedule(GATHER_MS)
  }

  async stop(): Promise<void> {
    if (!this.#isRunning) return
    this.#isRunning = false
    clearTimeout(this.#timer)
    // with what came since
    this.#judgeAll()
    await this.#save()
  }

  /** In natural order, as they were judged last. */
  get all(): readonly Cart[] {
    if (this.#isStale) this.#judgeAll()
    this.#all ??= Array.from(this.#seats.values(), ({ cart }) => cart)
    return this.#all
  }

  /** The same, judged now. */
  allNow(): readonly Cart[] {
    this.#judgeAll()
    return this.all
  }

  find(key: string): Cart | undefined {
    if (this.#isStale) this.#judgeAll()
    return this.#seats.get(key)?.cart
  }

  /** The cart that a device is in, by its hardware id. */
  of(hardwareId: string): Cart | undefined {
    if (this.#isStale) this.#judgeAll()
    const key = this.#keys.get(hardwareId)
    return key === undefined ? undefined : this.#seats.get(key)?.cart
  }

  /**
   * What a device says of its cart, as the head office is told it; that of its lock says when it will be locked, too.
   */
  saidOf(hardwareId: string, autoLockAtMs: (cart: Cart) => number | null): object | undefined {
    const cart = this.of(hardwareId)
    const said = cart?.said.find((one) => one.hardwareId === hardwareId)
    if (cart === undefined || said === undefined) return undefined
    const isLock = cart.verdict.lock?.hardwareId === hardwareId
    return toCartReportJson(said, cart.ground, isLock ? autoLockAtMs(cart) : null)
  }

  /** The cart as it is this moment. */
  evaluateNow(cart: Cart): Cart {
    if (this.#isStale) this.#judgeAll()
    this.#noticeZones()
    const seat = this.#seats.get(cart.key)
    if (seat === undefined) return this.#judge(cart.key, cart.devices, this.#groundOf(cart.devices), this.#look())
    const known = seat.cart
    if (this.#judgeAgain(seat, this.#look()) && !isShownSame(known, seat.cart)) this.#tellOne(seat.cart)
    return seat.cart
  }

  /** The cart as far as these devices of it say; null without any. */
  seenBy(cart: Cart, canSee: (hardwareId: string) => boolean): Cart | null {
    const isSeen = cart.devices.map(({ row }) => canSee(row.hardwareId))
    if (isSeen.every((seen) => seen)) return cart
    const devices = cart.devices.filter((_, i) => isSeen[i])
    if (devices.length === 0) return null
    const ground = this.#zones.groundOf(devices)
    const said = cart.said
      .filter((_, i) => isSeen[i])
      .map((one) => ({ ...one, stays: this.#zones.among(one.stays, devices) }))
    return {
      ...cart,
      devices,
      said,
      ground,
      verdict: evaluateCart(said, ground, this.#settings(), this.#look()),
    }
  }

  /** Judges all carts and says so; it does so by itself. */
  tick(): void {
    const { clock, events, log } = this.#deps
    try {
      this.#noticeClock()
      const nowMs = this.#judgeAll()
      events.emit('cartsJudged', { carts: this.all, nowMs })
      if (clock.monotonicMs() - this.#savedMs >= SAVE_MS) void this.#save()
    } catch (error) {
      log.error({ reason: describeError(error) }, 'could not judge the carts')
    }
    this.#beatMs = performance.now()
    this.#timerDueMs = Number.POSITIVE_INFINITY
    this.#schedule(this.#tickMs)
  }

  /** What people are told of a cart changed elsewhere: its notes or its alerts. */
  touch(key: string): void {
    if (this.#isStale) this.#judgeAll()
    this.#noticeZones()
    const seat = this.#seats.get(key)
    if (seat === undefined) return
    seat.cart = this.#judge(key, seat.cart.devices, seat, this.#look(), seat.cart)
    this.#all = null
    this.#hurry()
    this.#deps.events.emit('cartChanged', { cart: seat.cart, leftIds: [] })
  }

  #listen(): void {
    const { events } = this.#deps
    events.on('sampled', (event) => this.#sampled(event))
    events.on('lockChanged', (event) => {
      this.#members.heardLock(event)
      this.#hurry()
    })
    events.on('deviceClockJudged', ({ hardwareId }) => this.#members.clockJudged(hardwareId, this.#deps.clock.nowMs()))
    events.on('zoneCrossed', (event) => {
      this.#members.crossed(event)
      this.#hurry()
    })
    events.on('erased', ({ table }) => {
      if (table === 'lock_event') this.#members.rereadLocks(this.#look())
      if (table === 'cart_note') this.#deps.notes.load()
      this.#hurry()
    })
    for (const name of ['presenceChanged', 'siteChanged', 'zonesChanged'] as const) events.on(name, () => this.#hurry())
    events.on('deviceRemoved', () => {
      this.#isStale = true
      // now: a moment later nobody watches the device any more who is to hear of it
      if (this.#isRunning) this.#judgeAll()
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

  /** Something happened that people are to hear of soon. */
  #hurry(): void {
    if (!this.#isRunning) return
    const sinceMs = performance.now() - this.#beatMs
    this.#schedule(Math.max(GATHER_MS, HURRIED * this.#tickMs - sinceMs))
  }

  #schedule(inMs: number): void {
    const dueMs = performance.now() + inMs
    if (!this.#isRunning || dueMs >= this.#timerDueMs) return
    clearTimeout(this.#timer)
    this.#timerDueMs = dueMs
    this.#timer = setTimeout(() => this.tick(), inMs).unref()
  }

  /** Stillness and stays begin anew when somebody set the clock. */
  #noticeClock(): void {
    const offsetMs = this.#clockOffsetMs()
    const isSet = Math.abs(offsetMs - this.#offsetMs) > CLOCK_SET_MS
    this.#offsetMs = offsetMs
    if (!isSet) return
    // what was heard since the last beat is of before it was set
    this.#judgeAll()
    const nowMs = this.#deps.clock.nowMs()
    this.#clockSetMs = nowMs
    for (const member of this.#members.all()) member.startAgain(nowMs)
  }

  #clockOffsetMs(): number {
    const { clock } = this.#deps
    return clock.nowMs() - clock.monotonicMs()
  }

  /** Returns by what time. */
  #judgeAll(): number {
    const look = this.#look()
    if (this.#isStale) this.#regroup(look)
    else {
      this.#noticeZones()
      const isOther = !this.#isJudgedBy(look)
      const news: Cart[] = []
      for (const seat of this.#seats.values()) {
        if (!isOther && this.#holds(seat, look)) continue
        const known = seat.cart
        if (this.#judgeAgain(seat, look) && !isShownSame(known, seat.cart)) news.push(seat.cart)
      }
      if (isOther) this.#judgedBy = look
      this.#isTurnedBack = false
      for (const cart of news) this.#tellOne(cart)
    }
    return look.nowMs
  }

  /** Puts carts together anew. */
  #regroup(look: EvaluationContext): void {
    const { fleet } = this.#deps
    const before = this.#seats
    this.#isStale = false
    this.#members.keep(fleet.all())
    this.#zones.takeChange()
    const seats = new Map<string, Seat>()
    for (const [key, grouped] of groupByCart(fleet.all().map(toCarted))) {
      const devices = grouped.map(({ device }) => device)
      const ground = this.#groundOf(devices)
      const cart = this.#judge(key, devices, ground, look, before.get(key)?.cart)
      seats.set(key, { cart, ...ground })
    }
    this.#seats = seats
    this.#all = null
    this.#judgedBy = look
    this.#isTurnedBack = false
    this.#keys = keysOf(this.all)
    if (!this.#isRunning) return
    this.#tell(before)
    this.#tellRemoved(before)
  }

  /** Whether what all carts were judged by is still the same, but for the time that has gone by. */
  #isJudgedBy({ nowMs, latestMs, settings, clockSetMs, startedAtMs }: EvaluationContext): boolean {
    const by = this.#judgedBy
    return (
      by !== null &&
      !this.#isTurnedBack &&
      settings === by.settings &&
      clockSetMs === by.clockSetMs &&
      Math.abs(startedAtMs - by.startedAtMs) < SLEWED_MS &&
      // by a clock that is not to be trusted any time is believed
      (latestMs === by.latestMs || latestMs - nowMs === by.latestMs - by.nowMs)
    )
  }

  /** Whether a cart would be judged the same: nothing came, and time does not matter yet. */
  #holds({ cart: { key, said, verdict, notes }, members }: Seat, { nowMs }: EvaluationContext): boolean {
    for (let i = 0; i < members.length; i++) if (members[i]?.member.isSaying(said[i]) !== true) return false
    return this.#deps.notes.of(key, nowMs) === notes && nowMs < verdict.holdsUntilMs
  }

  #tell(before: ReadonlyMap<string, Seat>): void {
    for (const { cart } of this.#seats.values()) {
      const known = before.get(cart.key)?.cart
      const isOther = cart.devices.some(({ row }) => this.#changed.has(row.hardwareId))
      if (known === undefined || isOther || !isShownSame(known, cart))
        this.#deps.events.emit('cartChanged', { cart, leftIds: leftOf(known, cart) })
    }
    this.#changed.clear()
  }

  #tellOne(cart: Cart): void {
    if (this.#isRunning) this.#deps.events.emit('cartChanged', { cart, leftIds: [] })
  }

  #tellRemoved(before: ReadonlyMap<string, Seat>): void {
    const { events } = this.#deps
    for (const {
      cart: { key, devices },
    } of before.values()) {
      if (this.#seats.has(key)) continue
      events.emit('cartRemoved', { key, hardwareIds: devices.map(({ row }) => row.hardwareId) })
      this.#deps.notes.forget(key)
    }
  }

  /** Whether anything about it is other than it was; it keeps its object where nothing is. */
  #judgeAgain(seat: Seat, look: EvaluationContext): boolean {
    const { key, devices } = seat.cart
    const judged = this.#judge(key, devices, seat, look, seat.cart)
    if (isUnchanged(seat.cart, judged)) return false
    seat.cart = judged
    this.#all = null
    return true
  }

  #judge(
    key: string,
    devices: readonly Device[],
    { members, ground }: SeatGround,
    look: EvaluationContext,
    known?: Cart,
  ): Cart {
    const said = members.map(({ member, zones }) => member.said(zones, look))
    const verdict = evaluateCart(said, ground, look.settings, look)
    const notes = this.#deps.notes.of(key, look.nowMs)
    return withRevision(known, { key, devices, said, ground, verdict, notes }, ++this.#lastRevision)
  }

  /** Carts go by the zones that there are now. */
  #noticeZones(): void {
    if (!this.#zones.takeChange()) return
    this.#judgedBy = null
    for (const seat of this.#seats.values()) Object.assign(seat, this.#groundOf(seat.cart.devices))
  }

  #groundOf(devices: readonly Device[]): SeatGround {
    const members = devices.map((device) => ({
      member: this.#members.of(device),
      zones: this.#zones.of(device, devices),
    }))
    return { members, ground: this.#zones.groundOf(devices) }
  }

  /** Thresholds as they are set now. */
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

  #look(nowMs = this.#deps.clock.nowMs()): EvaluationContext {
    if (nowMs < this.#lookedMs) this.#isTurnedBack = true
    this.#lookedMs = nowMs
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
      log.warn({ reason: describeError(error) }, 'could not save how carts moved; tries again in a minute')
    }
  }
}

function isShownSame(known: Cart, cart: Cart): boolean {
  return known.revision.shown === cart.revision.shown
}

/** By which cart a device is in. */
function toCarted(device: Device) {
  const { hardwareId, name, cart } = device.row
  return { hardwareId, name, cart, device }
}

function keysOf(carts: readonly Cart[]): Map<string, string> {
  return new Map(carts.flatMap(({ key, devices }) => devices.map(({ row }) => [row.hardwareId, key] as const)))
}

/** Devices that were in the cart and are not any more. */
function leftOf(known: Cart | undefined, { devices }: Cart): string[] {
  if (known === undefined || known.devices === devices) return []
  return known.devices.filter((device) => !devices.includes(device)).map(({ row }) => row.hardwareId)
}
