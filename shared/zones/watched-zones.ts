import {
  distanceM,
  distanceToRingM,
  doSegmentsMeet,
  isInRing,
  isSamePlace,
  type Point,
  packRing,
  scaleAt,
} from './geometry.ts'
import type { Zone, ZoneShape } from './zone.ts'

/**
 * Distance outside a zone from which a fix counts as outside. Half the fixes of a good receiver are within 2.5 m
 * (u-blox NEO-M8 data sheet, 1.1), which is 2.1 m along an axis: a cart that stands on the edge never reaches it, and
 * for one that drives the exit is delayed by a second and a half.
 */
export const EXIT_BUFFER_M = 10

/** Relation of a fix to a zone: inside (including the edge), outside within the buffer, or outside. */
export type ZoneRelation = 'inside' | 'near' | 'outside'

/** Section of a straight line inside a zone, as fractions of the line. */
export interface ZonePassage {
  enterAt: number
  exitAt: number
}

interface Box {
  south: number
  west: number
  north: number
  east: number
}

/** Zone prepared for `watch`. */
export interface WatchedZone {
  id: string
  /** Identifies id and shape. */
  fingerprint: string
  shape: ZoneShape
  /** Ring of a polygon; empty for a circle. */
  packed: Float64Array
  box: Box
  /** Bounding box including the buffer. */
  reach: Box
  bufferM: number
}

/** Enabled zones of a group, prepared for `watch` once per version. */
export interface WatchedZones {
  zones: readonly WatchedZone[]
  /** South, west, north and east of each reach, packed because all are compared for every fix. */
  reaches: Float64Array
  /** Fingerprints of all zones. */
  fingerprints: string
}

const SIDES = 4

export function watchedZones(zones: readonly Zone[], bufferM = EXIT_BUFFER_M): WatchedZones {
  const watched = zones.filter(({ isEnabled }) => isEnabled).map((zone) => watchedZone(zone, bufferM))
  return {
    zones: watched,
    reaches: Float64Array.from(
      watched.flatMap(({ reach: { south, west, north, east } }) => [south, west, north, east]),
    ),
    fingerprints: watched.map(({ fingerprint }) => fingerprint).join(' '),
  }
}

/**
 * Relation of a fix to the zone. Exact at polygon edges; the zone must not touch the antimeridian from the other side.
 */
export function locate({ shape, packed, reach, bufferM }: WatchedZone, fix: Point): ZoneRelation {
  if (!isInBox(reach, fix)) return 'outside'
  if (shape.kind === 'circle') {
    const beyondM = distanceM(shape.center, fix) - shape.radiusM
    return beyondM <= 0 ? 'inside' : beyondM <= bufferM ? 'near' : 'outside'
  }
  if (isInRing(packed, fix)) return 'inside'
  return distanceToRingM(packed, fix) <= bufferM ? 'near' : 'outside'
}

/** True if the straight line between two fixes is far from the zone at this index: both outside on the same side. */
export function isFarFrom({ reaches }: WatchedZones, place: number, from: Point, to: Point): boolean {
  const at = place * SIDES
  const south = reaches[at] ?? 0
  if (from.latE7 < south && to.latE7 < south) return true
  const west = reaches[at + 1] ?? 0
  if (from.longE7 < west && to.longE7 < west) return true
  const north = reaches[at + 2] ?? 0
  if (from.latE7 > north && to.latE7 > north) return true
  const east = reaches[at + 3] ?? 0
  return from.longE7 > east && to.longE7 > east
}

/** Section of a straight line between two outside fixes inside a zone; null if it misses or only touches the zone. */
export function passageThrough({ shape, box }: WatchedZone, from: Point, to: Point): ZonePassage | null {
  if (isSamePlace(from, to) || isBeyondBox(box, from, to)) return null
  return shape.kind === 'circle' ? throughCircle(shape, from, to) : throughRing(shape.ring, from, to)
}

function throughRing(ring: readonly Point[], from: Point, to: Point): ZonePassage | null {
  const dx = to.longE7 - from.longE7
  const dy = to.latE7 - from.latE7
  let enterAt = 1
  let exitAt = 0
  let a = ring.at(-1)
  for (const b of ring) {
    if (a !== undefined && doSegmentsMeet(from, to, a, b)) {
      const ex = b.longE7 - a.longE7
      const ey = b.latE7 - a.latE7
      const cross = dx * ey - dy * ex
      // An edge parallel to the line adds nothing to its adjacent edges.
      if (cross !== 0) {
        const at = ((a.longE7 - from.longE7) * ey - (a.latE7 - from.latE7) * ex) / cross
        enterAt = Math.min(enterAt, Math.max(0, at))
        exitAt = Math.max(exitAt, Math.min(1, at))
      }
    }
    a = b
  }
  return enterAt < exitAt ? { enterAt, exitAt } : null
}

function throughCircle(
  { center, radiusM }: { center: Point; radiusM: number },
  from: Point,
  to: Point,
): ZonePassage | null {
  const { latM, longM } = scaleAt(center.latE7)
  const x = (from.longE7 - center.longE7) * longM
  const y = (from.latE7 - center.latE7) * latM
  const dx = (to.longE7 - from.longE7) * longM
  const dy = (to.latE7 - from.latE7) * latM
  // solves |from + t * d| = radius for t
  const a = dx * dx + dy * dy
  const half = x * dx + y * dy
  const root = half * half - a * (x * x + y * y - radiusM * radiusM)
  if (root <= 0) return null
  const enterAt = Math.max(0, (-half - Math.sqrt(root)) / a)
  const exitAt = Math.min(1, (-half + Math.sqrt(root)) / a)
  return enterAt < exitAt ? { enterAt, exitAt } : null
}

function watchedZone({ id, shape }: Zone, bufferM: number): WatchedZone {
  const box = boxOf(shape)
  const packed = packRing(shape.kind === 'polygon' ? shape.ring : [])
  const fingerprint = fingerprintOf(id, shape)
  return { id, fingerprint, shape, packed, box, reach: widen(box, bufferM), bufferM }
}

function boxOf(shape: ZoneShape): Box {
  if (shape.kind === 'circle') {
    const { latE7, longE7 } = shape.center
    return widen({ south: latE7, west: longE7, north: latE7, east: longE7 }, shape.radiusM)
  }
  const lats = shape.ring.map(({ latE7 }) => latE7)
  const longs = shape.ring.map(({ longE7 }) => longE7)
  return {
    south: Math.min(...lats),
    west: Math.min(...longs),
    north: Math.max(...lats),
    east: Math.max(...longs),
  }
}

/** Returns a box at least `byM` larger on each side; degrees of longitude are shortest nearest to a pole. */
function widen({ south, west, north, east }: Box, byM: number): Box {
  // Degrees of latitude are a hundredth longer at the poles than at the equator.
  const latE7 = (byM / scaleAt(0).latM) * 1.01
  const nearestPoleE7 = Math.min(90e7, Math.max(Math.abs(south), Math.abs(north)) + latE7)
  const longE7 = (byM / scaleAt(nearestPoleE7).longM) * 1.01
  return { south: south - latE7, west: west - longE7, north: north + latE7, east: east + longE7 }
}

function isInBox({ south, west, north, east }: Box, { latE7, longE7 }: Point): boolean {
  return latE7 >= south && latE7 <= north && longE7 >= west && longE7 <= east
}

/** True if a segment is completely on one side of a box. */
function isBeyondBox({ south, west, north, east }: Box, from: Point, to: Point): boolean {
  return (
    (from.latE7 < south && to.latE7 < south) ||
    (from.latE7 > north && to.latE7 > north) ||
    (from.longE7 < west && to.longE7 < west) ||
    (from.longE7 > east && to.longE7 > east)
  )
}

/** FNV-1a, 32 bits, of id and shape: a collision of two zones costs an event, with a chance of one in four billion. */
function fingerprintOf(id: string, shape: ZoneShape): string {
  const text = JSON.stringify([id, shape])
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return (hash >>> 0).toString(36)
}
