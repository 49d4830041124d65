import { type WatchedZones, watchedZones } from '#shared/zones/watched-zones.ts'
import type { Zone } from '#shared/zones/zone.ts'

/** Zones that rounds of a cart go by: its enabled parking zones, and its enabled holes with a number. */
export interface RoundZones {
  readonly watched: WatchedZones
  readonly hasParking: boolean
  /** The hole of a zone; null for parking. */
  readonly holeOf: ReadonlyMap<string, number | null>
  /** Numbers of all holes, ascending. */
  readonly holes: readonly number[]
}

/**
 * What rounds go by among the zones of a cart. A hole may be made of several zones; one without a number is nobody's.
 */
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

/** The zones of these that rounds go by. */
export function isCounted({ isEnabled, type, hole }: Zone): boolean {
  return isEnabled && (type === 'parking' || (type === 'hole' && hole !== null))
}

/** The hole that is played after this one: the next number there is, and the first after the last. */
export function holeAfter({ holes }: RoundZones, hole: number): number | null {
  return holes.find((number) => number > hole) ?? holes[0] ?? null
}
