import type { CartJson } from '#shared/wire/carts.ts'

/** Position of a cart as people describe it. */
export type Place =
  | { kind: 'zone'; name: string }
  | { kind: 'hole'; hole: number }
  | { kind: 'course' | 'outside' | 'unknown' }

/** Returns the most useful zone: parking before a hole, a hole before others; the boundary is the whole course. */
export function positionLabel({ position, zones, state }: Pick<CartJson, 'position' | 'zones' | 'state'>): Place {
  if (position === null) return { kind: 'unknown' }
  const parking = zones.find(({ type }) => type === 'parking')
  if (parking !== undefined) return { kind: 'zone', name: parking.name }
  const hole = zones.find(({ type }) => type === 'hole')?.hole ?? zones.find((zone) => zone.hole != null)?.hole
  if (hole !== undefined) return { kind: 'hole', hole }
  const other = zones.find(({ type }) => type !== 'boundary')
  if (other !== undefined) return { kind: 'zone', name: other.name }
  return { kind: state === 'outside' ? 'outside' : 'course' }
}
