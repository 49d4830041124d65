import type { CartJson } from '#shared/wire/carts.ts'

const AT = '2026-05-01T12:00:00.000Z'
const BARN = { zone_id: 'barn', name: 'Barn', type: 'parking', since: AT } as const

/** Creates a cart that is out on the course without problems, with `others` replaced. */
export function cartJson(cart: string, others: Partial<CartJson> = {}): CartJson {
  const hardware_id = `tb-${cart}`
  return {
    cart,
    kind: 'golf_cart',
    devices: [{ hardware_id, device_type: 'teebox', is_online: true }],
    state: 'out',
    is_moving: false,
    is_low: false,
    is_asleep: false,
    position: { lat: 28.41, long: -81.58, speed: 0, heading: null, at: AT, hardware_id },
    zones: [],
    lock: { is_locked: false, at: AT, source: 'remote', by: null, hardware_id },
    out_since: null,
    last_heard_at: AT,
    battery: null,
    out_of_service: null,
    exempt: null,
    note: null,
    party: null,
    auto_lock_at: null,
    open_alerts: [],
    ...others,
  }
}

/** Creates a locked cart in the barn. */
export function parkedJson(cart: string, others: Partial<CartJson> = {}): CartJson {
  const known = cartJson(cart)
  const lock = known.lock && { ...known.lock, is_locked: true }
  return { ...known, state: 'in', zones: [BARN], lock, ...others }
}

/** Creates an unlocked cart in the barn. */
export function openJson(cart: string, others: Partial<CartJson> = {}): CartJson {
  return parkedJson(cart, { lock: cartJson(cart).lock, ...others })
}
