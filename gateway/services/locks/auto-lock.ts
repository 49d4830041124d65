import type { Events, GatewayEvents } from '#gateway/events.ts'
import { autoLockAtMs } from '#shared/carts/auto-lock.ts'
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
  /** Which device locks a cart. */
  lockDeviceOf: (cart: Cart) => Device | undefined
  /** Since when a device is connected; null while it is not. */
  onlineSinceMs: (device: Device) => number | null
  events: Events
}

/** When an unlock was heard of whose time is still to come: that of its device is wrong. */
interface EarlyUnlock {
  atMs: number
  heardAtMs: number
}

/** Locks carts that stand still in their parking zone for as long as the site says. */
export class AutoLock {
  readonly #deps: AutoLockDeps
  /** When each device was locked by this rule last, for what it still matters. */
  readonly #lockedAtMs = new Map<string, number>()
  readonly #earlyUnlocks = new Map<string, EarlyUnlock>()

  constructor(deps: AutoLockDeps) {
    this.#deps = deps
  }

  /** What was locked before a restart is not locked again. */
  load(): void {
    for (const { hardwareId, atMs } of nullIfDamaged(() => this.#deps.store.read.autoLockTimes()) ?? [])
      this.#lockedAtMs.set(hardwareId, atMs)
    this.#deps.events.on('cartsJudged', (event) => this.#judged(event))
  }

  /** When a cart will be locked; null when it will not be. */
  atMs(cart: Cart): number | null {
    const { site, clockConfirmation } = this.#deps
    const { autoLockAfterMin: afterMin } = site.settings
    // of most carts nothing more has to be known
    if (afterMin === 0 || !cart.verdict.isInParking || cart.verdict.lock?.isLocked !== false) return null
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

  #judged({ carts, nowMs }: GatewayEvents['cartsJudged']): void {
    this.#forgetLocked(carts, nowMs)
    if (this.#deps.site.settings.autoLockAfterMin === 0 || !this.#deps.clockConfirmation.isConfirmed) return
    const due = carts.filter((cart) => this.#isDue(cart, nowMs))
    if (due.length === 0) return
    this.#deps.locks.lock({
      by: AUTO_LOCK,
      carts: due.map(({ key }) => key),
      // it may have driven off, or be locked, while others had their turn
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

  /** A cart that is locked, or has left, is another matter when it is unlocked or comes back. */
  #forgetLocked(carts: readonly Cart[], nowMs: number): void {
    for (const { key, devices, verdict } of carts) {
      const { lock, isInParking } = verdict
      if (lock?.isLocked === false && lock.atMs > nowMs) this.#heardEarly(key, lock.atMs, nowMs)
      else if (this.#earlyUnlocks.size > 0) this.#earlyUnlocks.delete(key)
      if (this.#lockedAtMs.size === 0 || (isInParking && lock?.isLocked !== true)) continue
      for (const { row } of devices) this.#lockedAtMs.delete(row.hardwareId)
    }
  }

  #heardEarly(key: string, atMs: number, heardAtMs: number): void {
    if (this.#earlyUnlocks.get(key)?.atMs !== atMs) this.#earlyUnlocks.set(key, { atMs, heardAtMs })
  }

  /** Its own time, but none after it was heard of: nobody waits for ever because a clock was set back. */
  #unlockedSinceMs(key: string, atMs: number): number {
    const early = this.#earlyUnlocks.get(key)
    return early?.atMs === atMs ? Math.min(atMs, early.heardAtMs) : atMs
  }
}
