import { fromE7, toE7 } from '#shared/geo.ts'
import type { CourseGeometry, Position } from './course.ts'
import { CourseFault } from './course-fault.ts'
import { type CourseKind, LINE_KINDS } from './tags.ts'

/** Reads the geometries of a file and counts their points. */
export class GeometryReader {
  readonly #pointsMax: number
  #points = 0

  constructor(pointsMax: number) {
    this.#pointsMax = pointsMax
  }

  /** Returns null for geometries not drawn for this kind, such as points. Throws `CourseFault`, which names `path`. */
  read(geometry: unknown, kind: CourseKind, path: string): CourseGeometry | null {
    const { type, coordinates } = partsOf(geometry, path)
    switch (type) {
      case 'LineString':
        return asKind([this.#line(coordinates, 2, path)], kind)
      case 'MultiLineString':
        return asKind(
          list(coordinates, path).map((line) => this.#line(line, 2, path)),
          kind,
        )
      case 'Polygon':
        return isArea(kind) ? { type, coordinates: this.#polygon(coordinates, path) } : null
      case 'MultiPolygon':
        if (!isArea(kind)) return null
        return { type, coordinates: list(coordinates, path).map((polygon) => this.#polygon(polygon, path)) }
      default:
        return null
    }
  }

  #polygon(value: unknown, path: string): Position[][] {
    const rings = list(value, path).map((ring) => closed(this.#line(ring, 3, path)))
    if (rings.length === 0) throw broken(path, 'has no ring')
    return rings
  }

  #line(value: unknown, least: number, path: string): Position[] {
    const positions = list(value, path)
    if (positions.length < least) throw broken(path, `has fewer than ${least} points`)
    this.#points += positions.length
    if (this.#points > this.#pointsMax)
      throw new CourseFault('too_many_points', `it has more than ${this.#pointsMax} points`)
    return positions.map((position) => readPosition(position, path))
  }
}

function partsOf(geometry: unknown, path: string): { type: unknown; coordinates: unknown } {
  if (typeof geometry !== 'object' || geometry === null || !('type' in geometry)) throw broken(path, 'has no geometry')
  return { type: geometry.type, coordinates: 'coordinates' in geometry ? geometry.coordinates : null }
}

/** Converts lines to the geometry they represent: a closed line around an area becomes the area. */
function asKind(lines: Position[][], kind: CourseKind): CourseGeometry | null {
  const [line] = lines
  if (line === undefined) return null
  if (LINE_KINDS.has(kind) || (kind === 'water' && !lines.every(isClosed)))
    return lines.length === 1
      ? { type: 'LineString', coordinates: line }
      : { type: 'MultiLineString', coordinates: lines }
  if (!lines.every(isClosed)) return null
  if (lines.length === 1) return { type: 'Polygon', coordinates: [line] }
  return { type: 'MultiPolygon', coordinates: lines.map((ring) => [ring]) }
}

function isArea(kind: CourseKind): boolean {
  return !LINE_KINDS.has(kind)
}

function isClosed(line: readonly Position[]): boolean {
  const [first, last] = [line[0], line.at(-1)]
  return line.length >= 4 && first?.[0] === last?.[0] && first?.[1] === last?.[1]
}

function closed(ring: Position[]): Position[] {
  const [first, last] = [ring[0], ring.at(-1)]
  if (first === undefined || last === undefined) return ring
  return first[0] === last[0] && first[1] === last[1] ? ring : [...ring, first]
}

function readPosition(value: unknown, path: string): Position {
  const [long, lat]: unknown[] = Array.isArray(value) ? value : []
  if (typeof long !== 'number' || typeof lat !== 'number') throw broken(path, 'has a point that is not two numbers')
  // NaN fails this comparison as well
  if (!(Math.abs(long) <= 180 && Math.abs(lat) <= 90))
    throw new CourseFault(
      'not_degrees',
      `${path} is at ${long}, ${lat}: coordinates must be longitude, then latitude, in degrees (WGS 84)`,
    )
  return [fromE7(toE7(long)), fromE7(toE7(lat))]
}

function list(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw broken(path, 'has no list of coordinates where one must be')
  return value
}

function broken(path: string, what: string): CourseFault {
  return new CourseFault('broken_geometry', `${path} ${what}`)
}
