import type { EvaluatedCart } from '#shared/carts/cart-state.ts'
import { fromE7, fromMilli, toMilli } from '#shared/geo.ts'
import { maskCode } from '#shared/masked-codes.ts'
import { type CartKind, SERVICE_KINDS } from '#shared/site/settings.ts'
import { isoOrNull, toIso } from '#shared/time.ts'
import type { ZoneType } from '#shared/zones/zone.ts'
import type { CartJson, CartListJson, ServiceReason } from './carts.ts'
import { type CartParty, toCartPartyJson } from './parties/party-json.ts'

interface NoteReason {
  why: string
  by: { userId: string; name: string }
}

/** Cart with all data to display. */
export interface ShownCart {
  key: string
  devices: readonly { hardwareId: string; deviceType: string; name: string | null; isOnline: boolean }[]
  verdict: EvaluatedCart
  notes: {
    outOfService: (NoteReason & { sinceMs: number; reason: ServiceReason | null }) | null
    exempt: (NoteReason & { zoneTypes: readonly ZoneType[]; untilMs: number }) | null
    note: string | null
    kind: CartKind
  }
  /** Null while it is not given out. */
  party: CartParty | null
  autoLockAtMs: number | null
  openAlertIds: readonly string[]
}

/** Notes on a cart without any. */
export const NO_CART_NOTES: ShownCart['notes'] = { outOfService: null, exempt: null, note: null, kind: 'golf_cart' }

/** Returns a cart in the form of every list and message, without codes and names that the caller may not see. */
export function toCartJson(cart: ShownCart, masksCodes: boolean, seesNames: boolean): CartJson {
  const { verdict, notes } = cart
  return {
    cart: cart.key,
    kind: notes.kind,
    devices: cart.devices.map(({ hardwareId, deviceType, name, isOnline }) => ({
      hardware_id: hardwareId,
      device_type: deviceType,
      ...(name ? { name } : {}),
      is_online: isOnline,
    })),
    state: verdict.state,
    is_moving: verdict.isMoving,
    is_low: verdict.isLow,
    is_asleep: verdict.isAsleep,
    position: toPositionJson(verdict.position),
    zones: verdict.stays.map(({ zoneId, name, type, hole, sinceMs }) => ({
      zone_id: zoneId,
      name,
      type,
      ...(hole === null ? {} : { hole }),
      since: toIso(sinceMs),
    })),
    lock: toLockJson(verdict.lock, masksCodes),
    out_since: isoOrNull(verdict.outSinceMs),
    last_heard_at: isoOrNull(verdict.lastSeenAtMs),
    battery: toBatteryJson(verdict.battery),
    out_of_service:
      notes.outOfService === null
        ? null
        : {
            since: toIso(notes.outOfService.sinceMs),
            reason: notes.outOfService.reason,
            ...toNoteReasonJson(notes.outOfService),
          },
    exempt:
      notes.exempt === null
        ? null
        : {
            zone_types: [...notes.exempt.zoneTypes],
            until: toIso(notes.exempt.untilMs),
            ...toNoteReasonJson(notes.exempt),
          },
    note: notes.note,
    party: cart.party && toCartPartyJson(cart.party, seesNames),
    auto_lock_at: isoOrNull(cart.autoLockAtMs),
    open_alerts: [...cart.openAlertIds],
  }
}

type CountedCart = { verdict: EvaluatedCart; notes: { outOfService: unknown; kind: CartKind } }

/** Returns the counts of golf carts, and of each other kind that there is. */
export function countCarts(carts: readonly CountedCart[]): Pick<CartListJson, 'counts' | 'counts_by_kind'> {
  const ofKind = (kind: CartKind) => carts.filter(({ notes }) => notes.kind === kind)
  const others = SERVICE_KINDS.map((kind) => [kind, ofKind(kind)] as const).filter(([, some]) => some.length > 0)
  return {
    counts: countsOf(ofKind('golf_cart')),
    counts_by_kind: Object.fromEntries(others.map(([kind, some]) => [kind, countsOf(some)])),
  }
}

function countsOf(carts: readonly CountedCart[]): CartListJson['counts'] {
  const count = (isOne: (cart: CountedCart) => boolean) => carts.filter(isOne).length
  const inState = (state: EvaluatedCart['state']) => count(({ verdict }) => verdict.state === state)
  return {
    in: inState('in'),
    out: inState('out'),
    moving: count(({ verdict }) => verdict.isMoving),
    low: count(({ verdict }) => verdict.isLow),
    silent: inState('silent'),
    outside: inState('outside'),
    out_of_service: count(({ notes }) => notes.outOfService !== null),
    total: carts.length,
  }
}

function toPositionJson(position: EvaluatedCart['position']): CartJson['position'] {
  if (position === null) return null
  const { hardwareId, fix, heading } = position
  const speed = fix.speedKmh === null ? null : fromMilli(toMilli(fix.speedKmh))
  return {
    lat: fromE7(fix.latE7),
    long: fromE7(fix.longE7),
    speed,
    heading,
    at: toIso(fix.atMs),
    hardware_id: hardwareId,
  }
}

function toLockJson(lock: EvaluatedCart['lock'], masksCodes: boolean): CartJson['lock'] {
  if (lock === null) return null
  const { isLocked, atMs, source, by, hardwareId } = lock
  const isCode = source === 'rfid' || source === 'keypad'
  return {
    is_locked: isLocked,
    at: toIso(atMs),
    source,
    hardware_id: hardwareId,
    by: by !== null && isCode && masksCodes ? maskCode(by) : by,
  }
}

function toBatteryJson(battery: EvaluatedCart['battery']): CartJson['battery'] {
  if (battery === null) return null
  const { hardwareId, voltageV, atMs, restV, restAtMs, percent } = battery
  return {
    voltage: voltageV,
    at: toIso(atMs),
    rest_voltage: restV,
    rest_at: isoOrNull(restAtMs),
    percent,
    hardware_id: hardwareId,
  }
}

function toNoteReasonJson({ why, by }: NoteReason) {
  return { why, by: { user_id: by.userId, name: by.name } }
}
