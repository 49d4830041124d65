import type { Events, GatewayEvents } from '#gateway/events.ts'
import type { OpenDay } from '#shared/site/opening-hours.ts'
import { CART_KINDS, kindRulesOf } from '#shared/site/settings.ts'
import { HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import type { ClosedDay } from '#store/tables/closing.ts'
import type { Cart } from '../cart.ts'
import type { Device } from '../fleet.ts'
import type { Site } from '../site.ts'
import type { AutomaticLocks } from './automatic-locks.ts'

interface ClosingDeps {
  store: Pick<Store, 'read'>
  locks: AutomaticLocks
  site: Pick<Site, 'settings' | 'calendar'>
  clockConfirmation: { readonly isConfirmed: boolean }
  lockDeviceOf: (cart: Cart) => Device | undefined
  /** Returns the time at which a device connected; null while it is offline. */
  onlineSinceMs: (device: Device) => number | null
  events: Events
}

/** Requester that the commands name. */
const CLOSING = 'closing'
/** Latest closing after a stop of the gateway, counted from closing time. */
const LATE_MS = HOUR_MS
/** Time without movement after which a cart that reconnected at another position counts as standing there. */
const STOOD_MS = 10_000
/** Time within which a reconnected cart reports its position, unless it cannot. */
const SILENT_MS = MINUTE_MS

/**
 * Locks the carts that are in at closing time, once per local day. Carts out of reach at that time, as all are after a
 * start, are locked when they reconnect and are still in, up to an hour after closing time.
 */
export class Closing {
  readonly #deps: ClosingDeps
  readonly #days = new Map<string, ClosedDay>()

  constructor(deps: ClosingDeps) {
    this.#deps = deps
  }

  load(): void {
    for (const day of this.#deps.store.read.closedDays()) this.#days.set(day.date, day)
    this.#deps.events.on('cartsEvaluated', (event) => this.#judged(event))
  }

  #judged({ carts, nowMs }: GatewayEvents['cartsEvaluated']): void {
    const { site, clockConfirmation, locks } = this.#deps
    if (!CART_KINDS.some((kind) => kindRulesOf(site.settings, kind).lockAtClosing)) return
    if (!clockConfirmation.isConfirmed || !locks.isReady(CLOSING)) return
    const day = site.calendar.lastClosing(nowMs)
    if (day === null || nowMs - day.closesMs > LATE_MS) return
    const closed = this.#days.get(day.date)
    if (closed !== undefined) this.#lockWaiting(closed, carts, nowMs)
    else if (carts.some(({ zoneContext }) => zoneContext.hasParking)) this.#close(day, carts, nowMs)
  }

  #close({ date }: OpenDay, carts: readonly Cart[], nowMs: number): void {
    const open = carts.filter(this.#isOpenInBarn)
    const inReach = open.filter((cart) => this.#isInReach(cart, nowMs))
    const waiting = open.filter((cart) => !inReach.includes(cart)).map(({ key }) => key)
    this.#lock(inReach, { date, closedAtMs: nowMs, waiting })
  }

  /** Skips carts that have been unlocked or have left since: a driver or staff is using them. */
  #lockWaiting(day: ClosedDay, carts: readonly Cart[], nowMs: number): void {
    if (day.waiting.length === 0) return
    const isWaiting = new Set(day.waiting)
    const open = carts.filter((cart) => isWaiting.has(cart.key) && this.#isLeftOpen(cart, day))
    const inReach = open.filter((cart) => this.#isInReach(cart, nowMs))
    const waiting = open.filter((cart) => !inReach.includes(cart)).map(({ key }) => key)
    if (waiting.length < day.waiting.length) this.#lock(inReach, { ...day, waiting })
  }

  /** Stores the day with the locks: it is closed with all of them, or not at all. */
  #lock(carts: readonly Cart[], day: ClosedDay): void {
    this.#deps.locks.lock({
      by: CLOSING,
      carts: carts.map(({ key }) => key),
      isStillDue: this.#isOpenInBarn,
      onWritten: () => this.#days.set(day.date, day),
      also: { name: 'saveClosedDay', input: day },
    })
  }

  /**
   * True if the device is connected and has since reported that the cart still stands at the same position, or if no
   * newer report is expected. A first fix elsewhere may come from a cart on the course: only the second shows an exit.
   */
  #isInReach(cart: Cart, nowMs: number): boolean {
    const device = this.#deps.lockDeviceOf(cart)
    const sinceMs = device === undefined ? null : this.#deps.onlineSinceMs(device)
    if (sinceMs === null) return false
    const { position, stillSinceMs } = cart.verdict
    const positionAtMs = position?.fix.atMs ?? 0
    const hasStood = stillSinceMs !== null && (stillSinceMs < sinceMs || positionAtMs - stillSinceMs >= STOOD_MS)
    return (positionAtMs >= sinceMs && hasStood) || nowMs - sinceMs >= SILENT_MS
  }

  /** True if the cart is in its parking zone, in service, locked at closing by its kind, and not known to be locked. */
  readonly #isOpenInBarn = ({ verdict, notes }: Cart): boolean =>
    verdict.isInParking &&
    verdict.lock?.isLocked !== true &&
    notes.outOfService === null &&
    kindRulesOf(this.#deps.site.settings, notes.kind).lockAtClosing

  #isLeftOpen(cart: Cart, { closedAtMs }: ClosedDay): boolean {
    const { lock } = cart.verdict
    return this.#isOpenInBarn(cart) && (lock === null || lock.atMs <= closedAtMs)
  }
}
