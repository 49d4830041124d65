import type { Events, GatewayEvents } from '#gateway/events.ts'
import { autoLockAtMs } from '#shared/carts/auto-lock.ts'
import { kindRulesOf } from '#shared/site/settings.ts'
import type { Store } from '#store/store.ts'
import { AUTO_LOCK } from '#store/tables/commands.ts'
import type { Cart } from '../cart.ts'
import type { Device } from '../fleet.ts'
import { nullIfDamaged } from '../null-if-damaged.ts'
import type { Site } from '../site.ts'
import type { AutomaticLocks } from './automatic-locks.ts'

interface AutoLockDeps {
  store: Pick<Store, 'read'>
  locks: AutomaticLocks
  site: Pick<Site, 'settings'>
  clockConfirmation: { readonly isConfirmed: boolean }
  lockDeviceOf: (cart: Cart) => Device | undefined
  /** Returns the time at which a device connected; null while it is offline. */
  onlineSinceMs: (device: Device) => number | null
  events: Events
}

/** Arrival of an unlock report whose own time lies in the future, because the clock of its device is wrong. */
interface EarlyUnlock {
  atMs: number
  receivedAtMs: number
}

/** Locks carts that have stood still in their parking zone for the time set for the site. */
export class AutoLock {
  readonly #deps: AutoLockDeps
  /** Time of the last lock by this rule, by hardware id; kept only while it can still prevent another one. */
  readonly #lockedAtMs = new Map<string, number>()
  readonly #earlyUnlocks = new Map<string, EarlyUnlock>()

  constructor(deps: AutoLockDeps) {
    this.#deps = deps
  }

  /** Restores earlier locks, so that a cart locked before a restart is not locked again. */
  load(): void {
    for (const { hardwareId, atMs } of nullIfDamaged(() => this.#deps.store.read.autoLockTimes()) ?? [])
      this.#lockedAtMs.set(hardwareId, atMs)
    this.#deps.events.on('cartsEvaluated', (event) => this.#judged(event))
  }

  /** Returns the time at which a cart will be locked; null if it will not be. */
  atMs(cart: Cart): number | null {
    const { site, clockConfirmation } = this.#deps
    const { autoLockAfterMin: afterMin } = site.settings
    // decides most carts without the lookups below
    if (afterMin === 0 || !cart.verdict.isInParking || cart.verdict.lock?.isLocked !== false) return null
    if (!kindRulesOf(site.settings, cart.notes.kind).autoLock) return null
    const device = this.#deps.lockDeviceOf(cart)
    if (device === undefined) return null
    return autoLockAtMs(cart.verdict, {
      afterMin,
      isClockConfirmed: clockConfirmation.isConfirmed,
      isInService: cart.notes.outOfService === null,
      onlineSinceMs: this.#deps.onlineSinceMs(device),
      unlockedSinceMs: this.#unlockedSinceMs(cart.key, cart.verdict.lock.atMs),
      lockedAtMs: this.#lockedAtMs.get(device.row.hardwareId) ?? null,
    })
  }

  #judged({ carts, nowMs }: GatewayEvents['cartsEvaluated']): void {
    this.#forgetLocked(carts, nowMs)
    if (this.#deps.site.settings.autoLockAfterMin === 0 || !this.#deps.clockConfirmation.isConfirmed) return
    const due = carts.filter((cart) => this.#isDue(cart, nowMs))
    if (due.length === 0) return
    this.#deps.locks.lock({
      by: AUTO_LOCK,
      carts: due.map(({ key }) => key),
      // the cart may have driven off or been locked while the request waited
      isStillDue: (cart, atMs) => this.#isDue(cart, atMs),
      onWritten: (commands) => {
        for (const { hardwareId, createdAtMs } of commands) this.#lockedAtMs.set(hardwareId, createdAtMs)
      },
    })
  }

  #isDue(cart: Cart, nowMs: number): boolean {
    const atMs = this.atMs(cart)
    return atMs !== null && atMs <= nowMs
  }

  /** Discards the record of carts that are locked or left: the rule applies again once they are unlocked or return. */
  #forgetLocked(carts: readonly Cart[], nowMs: number): void {
    for (const { key, devices, verdict } of carts) {
      const { lock, isInParking } = verdict
      if (lock?.isLocked === false && lock.atMs > nowMs) this.#noteEarly(key, lock.atMs, nowMs)
      else if (this.#earlyUnlocks.size > 0) this.#earlyUnlocks.delete(key)
      if (this.#lockedAtMs.size === 0 || (isInParking && lock?.isLocked !== true)) continue
      for (const { row } of devices) this.#lockedAtMs.delete(row.hardwareId)
    }
  }

  #noteEarly(key: string, atMs: number, receivedAtMs: number): void {
    if (this.#earlyUnlocks.get(key)?.atMs !== atMs) this.#earlyUnlocks.set(key, { atMs, receivedAtMs })
  }

  /** Returns the reported time, no later than its arrival: a clock set back must not delay the lock indefinitely. */
  #unlockedSinceMs(key: string, atMs: number): number {
    const early = this.#earlyUnlocks.get(key)
    return early?.atMs === atMs ? Math.min(atMs, early.receivedAtMs) : atMs
  }
}
