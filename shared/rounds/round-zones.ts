import { type WatchedZones, watchedZones } from '#shared/zones/watched-zones.ts'
import type { Zone } from '#shared/zones/zone.ts'

/** Zones that determine the rounds of a cart: its enabled parking zones, and its enabled holes with a number. */
export interface RoundZones {
  readonly watched: WatchedZones
  readonly hasParking: boolean
  /** Hole of each zone; null for parking. */
  readonly holeOf: ReadonlyMap<string, number | null>
  /** Numbers of all holes, ascending. */
  readonly holes: readonly number[]
}

/** Selects the zones that determine rounds. A hole may consist of several zones; zones without a number are ignored. */
export function roundZonesOf(zones: readonly Zone[]): RoundZones {
  const counted = zones.filter(isCounted)
  const holeOf = new Map(counted.map(({ id, type, hole }) => [id, type === 'parking' ? null : hole]))
  const holes = new Set(counted.flatMap(({ type, hole }) => (type === 'hole' && hole !== null ? [hole] : [])))
  return {
    watched: watchedZones(counted),
    hasParking: counted.some(({ type }) => type === 'parking'),
    holeOf,
    holes: [...holes].sort((a, b) => a - b),
  }
}

/** True if the zone determines rounds. */
export function isCounted({ isEnabled, type, hole }: Zone): boolean {
  return isEnabled && (type === 'parking' || (type === 'hole' && hole !== null))
}

/** Returns the next hole: the next existing number, and the first after the last. */
export function holeAfter({ holes }: RoundZones, hole: number): number | null {
  return holes.find((number) => number > hole) ?? holes[0] ?? null
}
