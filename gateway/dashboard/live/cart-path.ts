import type { CartJson } from '#shared/wire/carts.ts'
import type { ZonesJson } from '#shared/wire/zones.ts'
import { byNumber } from './fleet/marker-style.ts'

type ZoneJson = ZonesJson['features'][number]

/** A hole, and the zones of it that are off unless somebody switches them on. */
export interface PathHole {
  hole: number
  zoneIds: string[]
  /** Those that are on for a while. */
  onIds: string[]
  /** ISO 8601; null while none is on, and for until somebody switches. */
  until: string | null
  /** Who switched. */
  by: string | null
}

/** Whether a zone is on only because somebody switched it on. */
export function isSwitchedOn({ properties }: ZoneJson): boolean {
  return properties.switched !== null && properties.enabled && properties.enabled_before === false
}

/** The holes that have zones to be switched on, by number. Greens and water, which are always on, are none of them. */
export function pathHoles({ features }: ZonesJson): PathHole[] {
  const byHole = new Map<number, ZoneJson[]>()
  for (const zone of features) {
    const { hole, type } = zone.properties
    if (hole === undefined || type === 'hole' || !isOffByItself(zone)) continue
    const known = byHole.get(hole)
    if (known === undefined) byHole.set(hole, [zone])
    else known.push(zone)
  }
  return [...byHole]
    .sort(([a], [b]) => a - b)
    .map(([hole, zones]) => {
      const on = zones.filter(isSwitchedOn)
      const switched = on[0]?.properties.switched ?? null
      return {
        hole,
        zoneIds: idsOf(zones),
        onIds: idsOf(on),
        until: switched?.until ?? null,
        by: switched?.by.name ?? null,
      }
    })
}

/** Which carts keep a new zone by themselves: all that there are, also those that cannot. */
export interface ZoneReach {
  has: string[]
  waiting: string[]
  /** Without a device that takes zones: somebody must tell their drivers. */
  cannot: string[]
}

export function zoneReach(
  { applied, waiting }: { applied: readonly string[]; waiting: readonly string[] },
  carts: Iterable<CartJson>,
): ZoneReach {
  const able = new Set([...applied, ...waiting])
  const cannot = [...carts].filter(({ cart }) => !able.has(cart)).sort(byNumber)
  return { has: [...applied], waiting: [...waiting], cannot: cannot.map(({ cart }) => cart) }
}

function isOffByItself({ properties }: ZoneJson): boolean {
  return properties.switched === null ? !properties.enabled : properties.enabled_before === false
}

function idsOf(zones: readonly ZoneJson[]): string[] {
  return zones.map(({ id }) => id)
}
