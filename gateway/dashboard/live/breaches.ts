import type { CartJson } from '#shared/wire/carts.ts'
import type { GeofenceEventJson } from '#shared/wire/geofence-events.ts'
import type { ZonesJson } from '#shared/wire/zones.ts'
import { isSwitchedOn } from './cart-path.ts'

type ZoneJson = ZonesJson['features'][number]
type ZoneType = ZoneJson['properties']['type']

/** Violation: stay of a cart in a zone with a temporary override that forbids it. */
export interface Breach {
  cart: string
  zoneName: string
  fromMs: number
  /** Null while the cart is still inside. */
  untilMs: number | null
}

/** Builds the query for zone events: types of the overridden zones, start of the first override; null without one. */
export function breachQuery(zones: readonly ZoneJson[]): { types: ZoneType[]; from: string } | null {
  const on = zones.filter(isSwitchedOn)
  const [from] = on.flatMap(({ properties }) => properties.switched_at ?? []).sort()
  return from === undefined ? null : { types: [...new Set(on.map(({ properties }) => properties.type))], from }
}

/** Violations of these zones since their overrides began, newest first, without carts that have access to the zone. */
export function breachesOf(
  zones: readonly ZoneJson[],
  events: readonly GeofenceEventJson[],
  carts: Iterable<CartJson>,
): Breach[] {
  const byId = new Map(zones.filter(isSwitchedOn).map((zone) => [zone.id, zone]))
  const cartOf = new Map([...carts].flatMap((cart) => cart.devices.map((one) => [one.hardware_id, cart])))
  const stays = new Map<string, { breach: Breach; inside: Set<string> }[]>()
  for (const event of events.toSorted((a, b) => (a.timestamp < b.timestamp ? -1 : 1))) {
    const zone = byId.get(event.zone_id)
    const cart = cartOf.get(event.hardware_id)
    if (zone === undefined || cart === undefined || event.timestamp < (zone.properties.switched_at ?? '')) continue
    if (cart.exempt?.zone_types.includes(zone.properties.type) === true) continue
    const key = JSON.stringify([cart.cart, zone.id])
    const known = stays.get(key) ?? []
    stays.set(key, known)
    takeEvent(known, event, { cart: cart.cart, zoneName: zone.properties.name })
  }
  return [...stays.values()].flatMap((all) => all.map(({ breach }) => breach)).sort((a, b) => b.fromMs - a.fromMs)
}

/** Adds an event. The stays of two devices of a cart in one zone are merged: from the first entry to the last exit. */
function takeEvent(
  stays: { breach: Breach; inside: Set<string> }[],
  { event, hardware_id, timestamp }: GeofenceEventJson,
  of: Pick<Breach, 'cart' | 'zoneName'>,
): void {
  const atMs = Date.parse(timestamp)
  const last = stays.at(-1)
  if (event === 'enter') {
    if (last !== undefined && last.breach.untilMs === null) last.inside.add(hardware_id)
    else stays.push({ breach: { ...of, fromMs: atMs, untilMs: null }, inside: new Set([hardware_id]) })
    return
  }
  last?.inside.delete(hardware_id)
  if (last !== undefined && last.inside.size === 0) last.breach.untilMs ??= atMs
}
