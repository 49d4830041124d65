import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { DeviceClock } from '#domain/device-clock.ts'
import { Arrived } from '#services/alerts/arrived.ts'
import { evaluateCart as findChanges, noFindings } from '#services/alerts/findings.ts'
import { OpenAlerts } from '#services/alerts/open-alerts.ts'
import type { CartAlertState } from '#services/alerts/rule-state.ts'
import { isChargeWatched, type RestingVoltage, restedFromMs, withRest } from '#services/alerts/rule-state.ts'
import { closedDayAt, NO_PLAY, type SiteContext, siteContextOf } from '#services/alerts/site-context.ts'
import { isContextUnchanged, recordEvaluation } from '#services/alerts/skip-unchanged.ts'
import { type Cart, type CartNotes, NO_NOTES } from '#services/cart.ts'
import { withRevision } from '#services/carts/revision.ts'
import { type CartDevice, type CartLock, evaluateCart, type ZoneStay } from '#shared/carts/cart-state.ts'
import { advanceMotion, NO_MOTION } from '#shared/carts/motion.ts'
import { Calendar } from '#shared/site/opening-hours.ts'
import { DEFAULT_SITE_SETTINGS, type OpeningHours, type SiteSettings } from '#shared/site/settings.ts'
import { TimeZone } from '#shared/site/time-zone.ts'
import { HOUR_MS } from '#shared/time.ts'
import type { ZoneType } from '#shared/zones/zone.ts'
import type { ClosedDay, StoredAlert } from '#store/tables/alerts.ts'
import type { DeviceRow } from '#store/tables/devices.ts'

/** About a metre of latitude. */
const METRE_E7 = 90
const TICK_MS = 1000
const MOVING_KMH = 3
export const UNTOUCHED: CartNotes = NO_NOTES

/** From 07:00 to 20:00, every day. */
export const DAYTIME: OpeningHours = {
  mon: hours(),
  tue: hours(),
  wed: hours(),
  thu: hours(),
  fri: hours(),
  sat: hours(),
  sun: hours(),
}

function hours() {
  return { opensMinute: 420, closesMinute: 1200 }
}

/** Shared by all drills, so that no two have equal revisions. */
let lastRevision = 0

/**
 * Single cart, its reports, and the rules that evaluate it once a second, without a gateway: results take effect
 * immediately. `heard` lists the changes of alerts, as `opened outside`.
 */
export class CartDrill {
  readonly changes: string[] = []
  readonly changed: StoredAlert[] = []
  settings: SiteSettings
  isClockConfirmed = true
  countFromMs = Number.NEGATIVE_INFINITY
  startedAtMs: number
  closedDay: ClosedDay | null = null
  notes = UNTOUCHED
  lock: CartLock | null = null
  stays: ZoneStay[] = []
  zoneContext = { hasParking: true, hasBoundary: true }
  course = NO_PLAY
  isOnline = true
  announcedSleep = false
  /** Same as in `Device`. */
  contestedAtMs: number | null = null
  deviceClock = new DeviceClock()
  lastSeenAtMs: number | null = null
  nowMs: number
  readonly #volts: RestingVoltage[] = []
  #known: { settings: SiteSettings; calendar: Calendar } | undefined
  #last: { cart: Cart; context: SiteContext } | undefined
  #motion = NO_MOTION
  readonly #arrived = new Arrived({ on: () => undefined })
  #book = new OpenAlerts()
  #judged: Cart | undefined

  constructor(nowMs: number, settings: Partial<SiteSettings> = {}) {
    this.nowMs = nowMs
    this.startedAtMs = nowMs - 86_400_000
    this.settings = { ...DEFAULT_SITE_SETTINGS, ...settings }
  }

  /** Reports a position, in metres to the north, and a battery voltage. */
  say({
    northM,
    speedKmh = 0,
    voltageV,
    agoS = 0,
  }: {
    northM?: number
    speedKmh?: number | null
    voltageV?: number
    agoS?: number
  }): void {
    const { restAfterS, pack } = this.settings
    const sample = {
      atMs: this.nowMs - agoS * 1000,
      position:
        northM === undefined
          ? null
          : { latE7: 284_100_000 + Math.round(northM * METRE_E7), longE7: -815_800_000, speedKmh },
      voltageV: voltageV ?? null,
    }
    if (voltageV !== undefined) this.#volts.push({ atMs: sample.atMs, voltageV })
    this.#motion = advanceMotion(this.#motion, sample, { restAfterS, pack, movingKmh: MOVING_KMH })
    this.lastSeenAtMs = this.nowMs
  }

  /** Enters zones of these types. */
  enter(...types: ZoneStay['type'][]): void {
    const sinceMs = this.nowMs
    this.stays = types.map((type) => ({ zoneId: type, name: `The ${type}`, type, hole: null, sinceMs }))
  }

  /** Sends messages whose times are ahead of their receipt by this much; enough of them to establish the offset. */
  sayTimes(aheadMs: number): void {
    for (let i = 0; i < 10; i++) {
      this.deviceClock.received(aheadMs, true, { isConfirmed: true, monotonicMs: () => i * 1000 })
    }
    this.#book.wake('17')
  }

  /** Two connections take the id of the device from each other. */
  contest(): void {
    this.contestedAtMs = this.nowMs
    this.#book.wake('17')
  }

  lockIt(isLocked = true): void {
    this.lock = { isLocked, atMs: this.nowMs, source: 'remote', by: null }
  }

  /** Advances time with an evaluation every second; calls `each` before each one with the number of seconds passed. */
  pass(seconds: number, each: (second: number) => void = () => undefined): this {
    for (let second = 1; second <= seconds; second++) {
      this.nowMs += TICK_MS
      each(second)
      this.evaluate()
    }
    return this
  }

  evaluate(): void {
    const { nowMs, settings, isClockConfirmed, countFromMs } = this
    const calendar = this.#calendarOf(settings)
    const now = { nowMs, settings, calendar, isClockConfirmed, countFromMs, course: this.course }
    this.closedDay = closedDayAt({ ...now, closedDay: this.closedDay })
    const context = siteContextOf({ ...now, closedDay: this.closedDay })
    // as in a gateway, an unchanged cart is the same object
    const last = this.#last?.cart
    const cart = last !== undefined && isDeepStrictEqual(last, this.cart) ? last : this.cart
    const isUnchanged = isContextUnchanged(this.#last?.context ?? null, context)
    this.#last = { cart, context }
    const one = this.#book.caseOf(cart)
    const isDue = recordEvaluation(one, cart, isUnchanged, context, this.#arrived)
    this.#arrived.clear()
    this.#readHistory(one, context)
    const found = noFindings()
    findChanges(this.#book, one, context, found)
    // a gateway would have skipped the evaluation
    const isNothing = found.changes.length + found.ended.length === 0
    assert.ok(isDue || isNothing, JSON.stringify(found))
    if (!isDue) return
    if (isNothing) this.#book.rest(one, context)
    for (const alert of found.ended) this.#book.ended(alert)
    for (const { event, alert } of found.changes) this.#take(event, alert)
  }

  /** Closes the open alert of a kind, as a user does. */
  close(kind: string): void {
    const alert = this.open.find((one) => one.kind === kind)
    if (alert !== undefined) this.#book.put({ ...alert, closedAtMs: this.nowMs, awaitsEnd: true })
  }

  /** Restarts the gateway: the necessary state of its alerts is read from the disk, everything else is lost. */
  restart(): void {
    const kept = this.#book.ofCart('17')
    this.#book = new OpenAlerts()
    this.#book.load(kept)
    this.startedAtMs = this.nowMs
  }

  get open(): StoredAlert[] {
    return this.#book.notClosed()
  }

  get openKinds(): string[] {
    return this.open.map(({ kind }) => kind)
  }

  get cart(): Cart {
    const { settings, zoneContext, notes } = this
    const deviceReports: CartDevice[] = [
      {
        hardwareId: 'lock-17',
        deviceType: 'teebox',
        isOnline: this.isOnline,
        announcedSleep: this.announcedSleep,
        lastSeenAtMs: this.lastSeenAtMs,
        motion: this.#motion,
        stays: this.stays,
        outSinceMs: null,
        lock: this.lock,
      },
    ]
    const time = { nowMs: this.nowMs, startedAtMs: this.startedAtMs }
    const verdict = evaluateCart(deviceReports, zoneContext, { ...settings, movingKmh: MOVING_KMH }, time)
    // rules read nothing else of a device
    const { contestedAtMs } = this
    const row = { hardwareId: 'lock-17', deviceId: 1 } as DeviceRow
    const device = { row, contestedAtMs, clock: this.deviceClock } as Cart['devices'][number]
    const judged = { key: '17', devices: [device], deviceReports, zoneContext, verdict, notes }
    this.#judged = withRevision(this.#judged, judged, ++lastRevision)
    return this.#judged
  }

  #calendarOf(settings: SiteSettings): Calendar {
    if (this.#known?.settings !== settings) {
      const calendar = new Calendar(new TimeZone(settings.timeZone), settings.openingHours)
      this.#known = { settings, calendar }
    }
    return this.#known.calendar
  }

  /** Reads immediately, and only voltages. */
  #readHistory(one: CartAlertState, context: SiteContext): void {
    const { memory } = one
    memory.fixesRead = 'read'
    if (memory.restsRead !== 'due' || !isChargeWatched(one, context)) return
    const fromMs = restedFromMs(one.cart.verdict.stillSinceMs, context)
    memory.rests = this.#volts.filter(({ atMs }) => atMs >= fromMs).reduce(withRest, memory.rests)
    memory.restsRead = 'read'
  }

  #take(event: string, alert: StoredAlert): void {
    this.changes.push(`${event} ${alert.kind}`)
    this.changed.push(alert)
    this.#book.put(alert)
  }
}

export const NOON = Date.UTC(2026, 4, 1, 12)
const BY = { userId: 'u1', name: 'Ann' }
const PACK = { pack: { emptyV: 46, fullV: 51, lowV: 48 } }
export const OUT_OF_SERVICE: CartNotes = {
  ...UNTOUCHED,
  outOfService: { sinceMs: NOON, why: 'tyre', reason: null, by: BY },
}

/** Returns notes that grant access to zones of these types, for an hour from noon. */
export function exemptFrom(...zoneTypes: ZoneType[]): CartNotes {
  return { ...UNTOUCHED, exempt: { zoneTypes, untilMs: NOON + HOUR_MS, why: 'flag', by: BY } }
}

/** Creates a cart at rest at 0 m in the barn, which has reported and is unlocked. */
export function parked(nowMs = NOON, settings: ConstructorParameters<typeof CartDrill>[1] = {}): CartDrill {
  const drill = new CartDrill(nowMs, { ...PACK, openingHours: DAYTIME, ...settings })
  drill.say({ northM: 0, agoS: 7200 })
  drill.say({ northM: 0 })
  drill.enter('parking', 'boundary')
  drill.lockIt(false)
  return drill
}

/** Creates such a cart on the course. */
export function driving(nowMs = NOON, settings: ConstructorParameters<typeof CartDrill>[1] = {}): CartDrill {
  const drill = parked(nowMs, settings)
  drill.enter('boundary')
  return drill
}
