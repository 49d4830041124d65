import type { Zone, ZoneType } from './zone.ts'

/** Maximum size of the teebox payload, in UTF-8. */
export const COMPACT_BYTES_MAX = 16 * 1024

/** Zone types that a teebox knows: alert, stop, slow, parking. */
type CompactType = 'a' | 's' | 'w' | 'p'

/** Zone as sent to teeboxes, with the fields of `compactZonesSchema`; coordinates are integers of 1e-7 degree. */
type CompactZone = { i: string; t: CompactType; k?: number } & ({ p: number[] } | { c: [number, number]; r: number })

/** Payload of `sit/{groupId}/sz`: version and zones. */
export interface CompactZones {
  v: number
  z: CompactZone[]
}

/** Zone types that a teebox acts on; the others are for users and displays. */
const COMPACT_TYPE: Partial<Record<ZoneType, CompactType>> = {
  alert: 'a',
  stop: 's',
  slow: 'w',
  parking: 'p',
}

/** Teebox payload of a set of zones: the enabled ones that a teebox acts on. */
export function compactZones(version: number, zones: readonly Zone[]): CompactZones {
  return { v: version, z: zones.flatMap(compactZone) }
}

/** Length of the payload as JSON in UTF-8, with the longest version, so that a set that fits once always fits. */
export function compactBytes(zones: readonly Zone[]): number {
  return Buffer.byteLength(JSON.stringify(compactZones(Number.MAX_SAFE_INTEGER, zones)))
}

/** True if the zone is sent to teeboxes. */
export function isForTeeboxes({ type, isEnabled }: Zone): boolean {
  return isEnabled && COMPACT_TYPE[type] !== undefined
}

function compactZone(zone: Zone): CompactZone[] {
  const type = COMPACT_TYPE[zone.type]
  if (type === undefined || !zone.isEnabled) return []
  const limit = zone.type === 'slow' && zone.maxSpeedKmh !== null ? { k: zone.maxSpeedKmh } : {}
  const head = { i: zone.id, t: type, ...limit }
  const { shape } = zone
  return shape.kind === 'polygon'
    ? [{ ...head, p: shape.ring.flatMap(({ latE7, longE7 }) => [latE7, longE7]) }]
    : [{ ...head, c: [shape.center.latE7, shape.center.longE7], r: shape.radiusM }]
}
