import type { Alert } from '#domain/alert.ts'
import type { Events } from '#gateway/events.ts'
import type { Log } from '#shared/log.ts'
import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { Store } from '#store/store.ts'
import type { AuditContext } from '../audit-context.ts'
import type { Cart } from '../cart.ts'
import type { GatewayClock } from '../clock/gateway-clock.ts'
import type { Commands } from '../commands/commands.ts'
import type { LockGate } from '../commands/lock-gate.ts'
import type { DeviceTypeLookup } from '../commands/request.ts'
import type { Device } from '../fleet.ts'
import type { Presence } from '../presence.ts'
import type { Site } from '../site.ts'
import { AutoLock } from './auto-lock.ts'
import { AutomaticLocks } from './automatic-locks.ts'
import { CartLocks, type CartsToLock } from './cart-locks.ts'
import { Closing } from './closing.ts'
import { lockDeviceOf } from './lock-device.ts'
import { RoundTimeout } from './round-timeout.ts'

interface LocksDeps {
  store: Pick<Store, 'read'>
  carts: CartsToLock
  commands: Commands
  gate: LockGate
  deviceTypes: DeviceTypeLookup
  presence: Presence
  site: Site
  /** True once the gateway may act by its clock. */
  clockConfirmation: { readonly isConfirmed: boolean }
  origins: AuditContext
  events: Events
  /** Alerts that are not closed. */
  notClosedOf(kind: AlertKind): readonly Alert[]
  clock: GatewayClock
  log: Log
}

/**
 * Builds the locks that address carts rather than devices: many carts in the barn with one request, carts at rest, and
 * all at closing time. Each lock is an ordinary command (`commands`), which `LockGate` checks when it is made and when
 * it is sent; this module only chooses the carts. Automatic locks follow `cartsEvaluated`.
 */
export function createLocks(deps: LocksDeps) {
  const { store, presence, deviceTypes, clock } = deps
  const lockDevice = (cart: Cart) => lockDeviceOf(cart, deviceTypes)
  const onlineSinceMs = (device: Device) => {
    const sinceMs = device.isOnline ? presence.connectionOf(device)?.sinceMs : undefined
    if (sinceMs === undefined) return null
    // after the clock was set back, the time at rest starts again
    return sinceMs > clock.nowMs() ? 0 : sinceMs
  }
  const ownLocks = new AutomaticLocks({ ...deps, lockDeviceOf: lockDevice })
  const own = { ...deps, locks: ownLocks, lockDeviceOf: lockDevice, onlineSinceMs, store }
  return {
    cartLocks: new CartLocks(deps),
    autoLock: new AutoLock(own),
    closing: new Closing(own),
    roundTimeout: new RoundTimeout(own),
    ownLocks,
  }
}
