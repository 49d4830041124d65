import { doSegmentsMeet, isSamePlace, type Point, side } from './geometry.ts'

/** Fault of a ring, with the point at which it occurs. */
export interface RingFault {
  code: 'too_few_points' | 'zero_area' | 'self_crossing' | 'crosses_antimeridian'
  at: number
  detail: string
}

/** Point of a ring with its position in the request. */
export interface RingPoint extends Point {
  at: number
}

const HALF_WAY_ROUND_E7 = 180e7

/** Returns the corners of a ring, without the closing point and consecutive duplicates. */
export function cornersOf(points: readonly Point[]): RingPoint[] {
  const corners: RingPoint[] = []
  for (const [at, { latE7, longE7 }] of points.entries()) {
    const last = corners.at(-1)
    if (last === undefined || !isSamePlace(last, { latE7, longE7 })) corners.push({ latE7, longE7, at })
  }
  const first = corners[0]
  const last = corners.at(-1)
  if (first !== undefined && last !== undefined && corners.length > 1 && isSamePlace(first, last)) corners.pop()
  return corners
}

/** Fault by which corners bound no area, or null. Exact, in the plane of longitude and latitude (RFC 7946, 3.1.1). */
export function faultOf(corners: readonly RingPoint[]): RingFault | null {
  const distinct = new Set(corners.map(({ latE7, longE7 }) => `${latE7} ${longE7}`))
  if (distinct.size < 3) {
    return { code: 'too_few_points', at: 0, detail: 'needs at least 3 points in different places' }
  }
  const longs = corners.map(({ longE7 }) => longE7)
  if (Math.max(...longs) - Math.min(...longs) > HALF_WAY_ROUND_E7) {
    const detail = 'spans more than 180 degrees of longitude; a zone cannot cross the antimeridian'
    return { code: 'crosses_antimeridian', at: 0, detail }
  }
  const [first, second] = corners
  if (first !== undefined && second !== undefined && corners.every((corner) => side(first, second, corner) === 0)) {
    return { code: 'zero_area', at: 0, detail: 'encloses no area: all points are on one line' }
  }
  return selfCrossing(corners)
}

interface Edge {
  index: number
  from: RingPoint
  to: RingPoint
  south: number
  north: number
}

function selfCrossing(corners: readonly RingPoint[]): RingFault | null {
  const edges = corners.map((from, index): Edge => {
    const to = corners[(index + 1) % corners.length] ?? from
    return { index, from, to, south: Math.min(from.latE7, to.latE7), north: Math.max(from.latE7, to.latE7) }
  })
  for (const { index, from, to } of edges) {
    const next = edges[(index + 1) % edges.length]
    if (next !== undefined && turnsBack(from, to, next.to)) {
      return { code: 'self_crossing', at: to.at, detail: 'the ring turns back on itself here' }
    }
  }
  const crossing = firstCrossing(edges)
  if (crossing === null) return null
  const [{ from }, other] = crossing
  const detail = `the edge from here meets the edge from point ${other.from.at}; a ring must not cross or touch itself`
  return { code: 'self_crossing', at: from.at, detail }
}

/** Returns the first pair of non-adjacent edges along the ring that meet, the earlier edge first. */
function firstCrossing(edges: readonly Edge[]): [Edge, Edge] | null {
  // Sorted from the south, each edge only needs to be compared with those that begin before it ends.
  const fromSouth = edges.toSorted((a, b) => a.south - b.south)
  let found: [Edge, Edge] | null = null
  for (const [i, edge] of fromSouth.entries()) {
    for (let j = i + 1; j < fromSouth.length; j++) {
      const other = fromSouth[j]
      if (other === undefined || other.south > edge.north) break
      const apart = Math.abs(edge.index - other.index)
      if (apart === 1 || apart === edges.length - 1) continue
      if (!doSegmentsMeet(edge.from, edge.to, other.from, other.to)) continue
      const pair: [Edge, Edge] = edge.index < other.index ? [edge, other] : [other, edge]
      if (found === null || comesBefore(pair, found)) found = pair
    }
  }
  return found
}

function comesBefore([a, b]: [Edge, Edge], [c, d]: [Edge, Edge]): boolean {
  return a.index < c.index || (a.index === c.index && b.index < d.index)
}

/** True if the segment from b to c runs back along the one from a to b. */
function turnsBack(a: Point, b: Point, c: Point): boolean {
  if (side(a, b, c) !== 0) return false
  const isBack = (from: number, via: number, to: number) => Math.sign(via - from) * Math.sign(to - via) < 0
  return isBack(a.latE7, b.latE7, c.latE7) || isBack(a.longE7, b.longE7, c.longE7)
}
