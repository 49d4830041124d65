import type { ZoneJson } from './zone-draft.ts'
import { type ShapeFault, shapeFault } from './zone-shape.ts'

/** Reason why the gateway would reject a set: of one zone, or of all together. */
export type ZoneFault =
  | { kind: 'zone'; id: string; name: string; why: ShapeFault | 'name' | 'hole' | 'speed' }
  | { kind: 'tooMany' | 'tooManyForCarts'; count: number }

const ZONES_MAX = 500
const DEVICE_ZONES_MAX = 100
/** Range of a zone's speed limit. */
export const ZONE_SPEED_KMH = { least: 1, most: 200 }

/** Checks a set before it is sent and returns its errors as keys of the texts. */
export function zoneFaults(zones: readonly ZoneJson[]): ZoneFault[] {
  const faults: ZoneFault[] = zones.flatMap((zone) => {
    const why = faultOf(zone)
    return why === null ? [] : [{ kind: 'zone', id: zone.id, name: zone.properties.name, why }]
  })
  if (zones.length > ZONES_MAX) faults.push({ kind: 'tooMany', count: zones.length })
  // zones for all groups, which every cart receives
  const onCarts = zones.filter(
    ({ properties: { type, enabled, groups } }) =>
      enabled && groups === undefined && type !== 'hole' && type !== 'boundary',
  ).length
  if (onCarts > DEVICE_ZONES_MAX) faults.push({ kind: 'tooManyForCarts', count: onCarts })
  return faults
}

function faultOf(zone: ZoneJson): ShapeFault | 'name' | 'hole' | 'speed' | null {
  const { name, hole, max_speed_kmh: speed } = zone.properties
  if (name.trim() === '') return 'name'
  if (hole !== undefined && !(Number.isInteger(hole) && hole >= 1 && hole <= 99)) return 'hole'
  if (speed !== undefined && !(speed >= ZONE_SPEED_KMH.least && speed <= ZONE_SPEED_KMH.most)) return 'speed'
  return shapeFault(zone)
}
