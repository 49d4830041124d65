import type { Events, GatewayEvents } from '#gateway/events.ts'
import type { OpenDay } from '#shared/site/opening-hours.ts'
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
  /** Since when a device is connected; null while it is not. */
  onlineSinceMs: (device: Device) => number | null
  events: Events
}

/** Whom the commands name as who asked for them. */
const CLOSING = 'closing'
/** After a stop closing is done up to so late. */
const LATE_MS = HOUR_MS
/** A cart that came back elsewhere stands there when it has not moved for so long. */
const STOOD_MS = 10_000
/** A cart that came back says within this time where it is, unless it cannot. */
const SILENT_MS = MINUTE_MS

/**
 * Locks the carts that are in at closing time, once a local day. Those that are out of reach then, as all are after a
 * start, are locked when they come back and are still in, up to an hour after closing time.
 */
export class Closing {
  readonly #deps: ClosingDeps
  readonly #days = new Map<string, ClosedDay>()

  constructor(deps: ClosingDeps) {
    this.#deps = deps
  }

  load(): void {
    for (const day of this.#deps.store.read.closedDays()) this.#days.set(day.date, day)
    this.#deps.events.on('cartsJudged', (event) => this.#judged(event))
  }

  #judged({ carts, nowMs }: GatewayEvents['cartsJudged']): void {
    const { site, clockConfirmation, locks } = this.#deps
    if (!site.settings.lockAtClosing || !clockConfirmation.isConfirmed || !locks.isReady(CLOSING)) return
    const day = site.calendar.lastClosing(nowMs)
    if (day === null || nowMs - day.closesMs > LATE_MS) return
    const closed = this.#days.get(day.date)
    if (closed !== undefined) this.#lockWaiting(closed, carts, nowMs)
    else if (carts.some(({ ground }) => ground.hasParking)) this.#close(day, carts, nowMs)
  }

  #close({ date }: OpenDay, carts: readonly Cart[], nowMs: number): void {
    const open = carts.filter(isOpenInBarn)
    const inReach = open.filter((cart) => this.#isInReach(cart, nowMs))
    const waiting = open.filter((cart) => !inReach.includes(cart)).map(({ key }) => key)
    this.#lock(inReach, { date, closedAtMs: nowMs, waiting })
  }

  /** A cart that was unlocked since, or has left, is in somebody's hands. */
  #lockWaiting(day: ClosedDay, carts: readonly Cart[], nowMs: number): void {
    if (day.waiting.length === 0) return
    const isWaiting = new Set(day.waiting)
    const open = carts.filter((cart) => isWaiting.has(cart.key) && isLeftOpen(cart, day))
    const inReach = open.filter((cart) => this.#isInReach(cart, nowMs))
    const waiting = open.filter((cart) => !inReach.includes(cart)).map(({ key }) => key)
    if (waiting.length < day.waiting.length) this.#lock(inReach, { ...day, waiting })
  }

  /** The day is written down with the locks: it is closed with all of them, or not at all. */
  #lock(carts: readonly Cart[], day: ClosedDay): void {
    this.#deps.locks.lock({
      by: CLOSING,
      carts: carts.map(({ key }) => key),
      isStillDue: isOpenInBarn,
      onWritten: () => this.#days.set(day.date, day),
      also: { name: 'saveClosedDay', input: day },
    })
  }

  /**
   * Whether it is connected, and has said since that it still stands where it stood, or nothing newer is to come. A
   * first fix elsewhere may be that of a cart on the course: that it has left its zone is known by the second.
   */
  #isInReach(cart: Cart, nowMs: number): boolean {
    const device = this.#deps.lockDeviceOf(cart)
    const sinceMs = device === undefined ? null : this.#deps.onlineSinceMs(device)
    if (sinceMs === null) return false
    const { position, stillSinceMs } = cart.verdict
    const saidMs = position?.fix.atMs ?? 0
    const hasStood = stillSinceMs !== null && (stillSinceMs < sinceMs || saidMs - stillSinceMs >= STOOD_MS)
    return (saidMs >= sinceMs && hasStood) || nowMs - sinceMs >= SILENT_MS
  }
}

/** In its parking zone, in service, and not known to be locked. */
function isOpenInBarn({ verdict, notes }: Cart): boolean {
  return verdict.isInParking && verdict.lock?.isLocked !== true && notes.outOfService === null
}

function isLeftOpen(cart: Cart, { closedAtMs }: ClosedDay): boolean {
  const { lock } = cart.verdict
  return isOpenInBarn(cart) && (lock === null || lock.atMs <= closedAtMs)
}
