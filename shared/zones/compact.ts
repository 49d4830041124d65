import type { CompactType, CompactZone, CompactZones, ZoneType } from '#shared/wire/geofences.ts'
import type { Zone } from './zone.ts'

/** The kinds of zones a teebox acts on; the others are for people and displays. */
const COMPACT_TYPE: Partial<Record<ZoneType, CompactType>> = {
  alert: 'a',
  stop: 's',
  slow: 'w',
  parking: 'p',
}

/** What teeboxes get of a set of zones: those that are enabled and that a teebox acts on. */
export function compactZones(version: number, zones: readonly Zone[]): CompactZones {
  return { v: version, z: zones.flatMap(compactZone) }
}

/** The length of that as JSON in UTF-8, with the longest version there can be: a set that fits once fits always. */
export function compactBytes(zones: readonly Zone[]): number {
  return Buffer.byteLength(JSON.stringify(compactZones(Number.MAX_SAFE_INTEGER, zones)))
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
