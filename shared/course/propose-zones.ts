import type { Point } from '#shared/zones/geometry.ts'
import { cornersOf, faultOf } from '#shared/zones/ring.ts'
import { simplify, weightsOf } from '#shared/zones/simplify.ts'
import type { SiteZone, ZoneShape, ZoneType } from '#shared/zones/zone.ts'
import type { Course, CourseFeature } from './course.ts'
import { fairwaysOfHoles, type HoleFairway, largest } from './fairways.ts'
import { hullAround } from './hull.ts'
import { areaOf, isInside, metresBetween, type Place, Plane } from './plane.ts'
import { type Area, areasOf, type HoleLine, holeLinesOf, positionsOf } from './shapes.ts'
import { simplifyLine, stripAround } from './strip.ts'

/** Finest tolerance; carts are not driven more precisely. */
const FINEST_M = 0.5

/**
 * Zone shape of at most `cornersMax` main corners; a hand-drawn ring that crosses itself becomes its convex outline.
 */
function zoneShape(ring: readonly Place[], plane: Plane, cornersMax: number): ZoneShape | null {
  const kept = ringOf(ring, plane) ?? ringOf(hullAround(ring, FINEST_M), plane)
  if (kept === null) return null
  const weights = weightsOf(kept)
  let fewer: readonly Point[] = kept
  for (let toleranceM = FINEST_M; fewer.length > cornersMax && toleranceM < 200; toleranceM *= 1.5)
    fewer = simplify(kept, weights, toleranceM).ring
  if (fewer.length <= cornersMax) return { kind: 'polygon', ring: fewer }
  const hull = ringOf(hullAround(ring, FINEST_M), plane)
  return hull === null || hull.length > cornersMax ? null : { kind: 'polygon', ring: hull }
}

/** Returns the corners of a valid ring; null otherwise. */
function ringOf(places: readonly Place[], plane: Plane): Point[] | null {
  const corners = cornersOf(places.map((place) => plane.point(place)))
  if (faultOf(corners) !== null) return null
  return corners.map(({ latE7, longE7 }) => ({ latE7, longE7 }))
}

/** Names of the proposed zones; `hole` is null for a line without a number. */
export interface ZoneNames {
  course: string
  hole: (hole: number | null) => string
  green: (hole: number | null) => string
  fairway: (hole: number) => string
  water: string
}

/** Distance on each side of a hole's line. */
const HOLE_ROOM_M = 38
/** Margin around everything that is drawn, if the course has no outline. */
const BOUNDARY_ROOM_M = 60
const BOUNDARIES_MAX = 5
const BOUNDARY_CORNERS_MAX = 150
const HOLES_MAX = 99
const WATER_CORNERS_MAX = 30
/** Maximum distance between the end of a hole and its green. */
const AT_GREEN_M = 30
const GREEN_RADIUS_M = { least: 5, most: 80 }
/** Part of the hundred zones that devices accept; the barn and zones drawn by staff need the rest. */
const DEVICE_ZONES_MAX = 90
/** More than any course has; the largest areas count. */
const WATERS_MAX = 300
/** Minimum area of a water hazard; smaller ones are harmless. */
const WATER_M2 = 30

/**
 * Proposes the zones of a course for staff to edit: its boundary, a zone around each hole, alert zones on greens and
 * water, and the fairways of each hole, disabled until carts must keep to the path.
 */
export function proposeZones({ features }: Pick<Course, 'features'>, names: ZoneNames): SiteZone[] {
  const [first] = features.filter(isOfGolf).flatMap(positionsOf)
  if (first === undefined) return []
  const plane = new Plane(first)
  const holes = holeLinesOf(features, plane).slice(0, HOLES_MAX)
  const boundary = boundaryOf(features, plane)
  const greens = areasOf(features, 'green', plane)
    .slice(0, DEVICE_ZONES_MAX)
    .map((green) => greenZone(green, holes, plane, names))
  const fairways = fairwaysOfHoles(areasOf(features, 'fairway', plane), holes)
  const water = largest(areasOf(features, 'water', plane), WATERS_MAX)
    .filter(
      ({ ring }) => areaOf(ring) >= WATER_M2 && ring.some((place) => boundary.some((one) => isInside(one, place))),
    )
    .sort((a, b) => areaOf(b.ring) - areaOf(a.ring))
  const onDevices = [...greens]
  const addAll = <Area>(areas: readonly Area[], make: (area: Area) => NewZone[]) => {
    // created only while there is room, because reducing corners is the slowest step
    for (const area of areas) if (onDevices.length < DEVICE_ZONES_MAX) onDevices.push(...make(area))
  }
  addAll(fairways, (fairway) => fairwayZone(fairway, plane, names))
  addAll(water, (area) => areaZone(area, plane, names))
  return withIds([
    ...boundary.flatMap((ring) => zone('boundary', names.course, zoneShape(ring, plane, BOUNDARY_CORNERS_MAX))),
    ...holes.flatMap((hole) => holeZone(hole, plane, names)),
    ...onDevices,
  ])
}

function isOfGolf({ properties }: CourseFeature): boolean {
  return properties.golf !== undefined || properties.leisure === 'golf_course'
}

/** Largest outlines of the course, else the outline of everything that golf is played on. */
function boundaryOf(features: readonly CourseFeature[], plane: Plane): Place[][] {
  const outlines = areasOf(features, 'outline', plane).map(({ ring }) => ring)
  if (outlines.length > 0) return outlines.sort((a, b) => areaOf(b) - areaOf(a)).slice(0, BOUNDARIES_MAX)
  const played = features.filter(isOfGolf).flatMap(positionsOf)
  return [
    hullAround(
      played.map((position) => plane.place(position)),
      BOUNDARY_ROOM_M,
    ),
  ]
}

function holeZone({ line, number }: HoleLine, plane: Plane, names: ZoneNames): NewZone[] {
  const way = simplifyLine(line, 3)
  const ring = ringOf(stripAround(way, HOLE_ROOM_M), plane) ?? ringOf(hullAround(way, HOLE_ROOM_M), plane)
  return zone('hole', names.hole(number), ring === null ? null : { kind: 'polygon', ring }, number)
}

function greenZone({ ring }: Area, holes: readonly HoleLine[], plane: Plane, names: ZoneNames): NewZone {
  const center = middleOf(ring)
  const reach = Math.max(...ring.map((place) => metresBetween(center, place)))
  const radiusM = Math.round(Math.min(GREEN_RADIUS_M.most, Math.max(GREEN_RADIUS_M.least, reach)))
  let hole: number | null = null
  let nearest = radiusM + AT_GREEN_M
  for (const { line, number } of holes) {
    const end = line.at(-1)
    const distance = end === undefined ? nearest : metresBetween(center, end)
    if (distance < nearest) [hole, nearest] = [number, distance]
  }
  const shape: ZoneShape = { kind: 'circle', center: plane.point(center), radiusM }
  return { type: 'alert', name: names.green(hole), shape, hole, isEnabled: true, kind: 'green' }
}

function fairwayZone({ ring, hole }: HoleFairway, plane: Plane, names: ZoneNames): NewZone[] {
  return zone('alert', names.fairway(hole), zoneShape(ring, plane, WATER_CORNERS_MAX), hole).map((made) => ({
    ...made,
    isEnabled: false,
    kind: 'fairway',
  }))
}

function areaZone({ ring, name }: Area, plane: Plane, names: ZoneNames): NewZone[] {
  return zone('alert', name ?? names.water, zoneShape(ring, plane, WATER_CORNERS_MAX)).map((made) => ({
    ...made,
    kind: 'water',
  }))
}

interface NewZone {
  type: ZoneType
  name: string
  shape: ZoneShape
  hole: number | null
  isEnabled: boolean
  /** Prefix of its id. */
  kind: string
}

/** Returns no zone if there is no shape. */
function zone(type: ZoneType, name: string, shape: ZoneShape | null, hole: number | null = null): NewZone[] {
  return shape === null ? [] : [{ type, name, shape, hole, isEnabled: true, kind: type }]
}

/** Assigns descriptive ids: `green-7`, `water`, `water-2`. */
function withIds(zones: readonly NewZone[]): SiteZone[] {
  const taken = new Set<string>()
  return zones.map(({ kind, ...made }) => {
    const wanted = made.hole === null ? kind : `${kind}-${made.hole}`
    let id = wanted
    for (let count = 2; taken.has(id); count++) id = made.hole === null ? `${wanted}-${count}` : `${wanted}-${count}`
    taken.add(id)
    return { id, ...made, isVisible: false, message: null, maxSpeedKmh: null, groups: null }
  })
}

/** Centroid of an area; for a thin one the mean of its corners. */
function middleOf(ring: readonly Place[]): Place {
  let [x, y, twice] = [0, 0, 0]
  let from = ring.at(-1)
  for (const to of ring) {
    if (from !== undefined) {
      const cross = from.xM * to.yM - to.xM * from.yM
      x += (from.xM + to.xM) * cross
      y += (from.yM + to.yM) * cross
      twice += cross
    }
    from = to
  }
  if (Math.abs(twice) > 1e-6) return { xM: x / (3 * twice), yM: y / (3 * twice) }
  const sum = ring.reduce((all, { xM, yM }) => ({ xM: all.xM + xM, yM: all.yM + yM }), { xM: 0, yM: 0 })
  return { xM: sum.xM / ring.length, yM: sum.yM / ring.length }
}
