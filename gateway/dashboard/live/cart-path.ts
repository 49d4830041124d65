import type { CartJson } from '#shared/wire/carts.ts'
import type { ZonesJson } from '#shared/wire/zones.ts'
import { byNumber } from './fleet/marker-style.ts'

type ZoneJson = ZonesJson['features'][number]

/** Hole with the zones that apply only while they are switched on. */
export interface PathHole {
  hole: number
  zoneIds: string[]
  /** Ids of the zones that are switched on. */
  onIds: string[]
  /** End of the override, ISO 8601; null while no zone is on, and for an override without an end. */
  until: string | null
  /** Name of the user who switched. */
  by: string | null
}

/** True if a zone is on only because of a temporary override. */
export function isSwitchedOn({ properties }: ZoneJson): boolean {
  return properties.switched !== null && properties.enabled && properties.enabled_before === false
}

/** Returns the holes with zones that can be switched on, by number; greens and water are always on and left out. */
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

/** Carts that enforce a new zone on their own: number of all carts, and those that cannot. */
export interface ZoneReach {
  has: string[]
  waiting: string[]
  /** Carts without a device that receives zones: staff must inform their drivers. */
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
