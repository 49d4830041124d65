import { between, distanceM, type Point } from './plane.ts'

/** Smooth path of a cart, with the speed that its bends and its end allow at every vertex. */
export interface Path {
  readonly points: readonly Point[]
  /** Distance from the start, per vertex. */
  readonly atM: readonly number[]
  /** Highest speed at each vertex from which the cart can still brake for what follows; 0 at the end. */
  readonly limitMps: readonly number[]
  readonly lengthM: number
}

/** Deceleration of a cart that brakes normally, in m/s². */
export const BRAKING_MPS2 = 1.2

const LATERAL_MPS2 = 1.8
const LONGEST_TURN_M = 4
const SLOWEST_BEND_MPS = 0.9
const SMOOTHING_ROUNDS = 3

/** Rounds the corners of a line of at least two points and computes the speed limits along it. */
export function createPath(corners: readonly Point[]): Path {
  const points = smooth(withoutRepeats(corners))
  const atM = distancesAlong(points)
  return { points, atM, limitMps: speedLimits(points, atM), lengthM: atM.at(-1) ?? 0 }
}

/** Point `alongM` metres along the path, and the unit vector to its left; `fromSegment` is the first to search. */
export function placeOn(path: Path, alongM: number, fromSegment = 0): { point: Point; left: Point } {
  const i = segmentAt(path, alongM, fromSegment)
  const a = path.points[i] ?? { xM: 0, yM: 0 }
  const b = path.points[i + 1] ?? a
  const from = path.atM[i] ?? 0
  const lengthM = Math.max(1e-6, distanceM(a, b))
  const left = { xM: -(b.yM - a.yM) / lengthM, yM: (b.xM - a.xM) / lengthM }
  return { point: between(a, b, Math.min(1, Math.max(0, (alongM - from) / lengthM))), left }
}

/** Section of a path between two distances, shifted sideways (left is positive), as corners for a new path. */
export function parallelPath(path: Path, fromM: number, toM: number, offsetM: number): Point[] {
  const steps = Math.max(1, Math.round((toM - fromM) / 20))
  return Array.from({ length: steps + 1 }, (_, i) => {
    const { point, left } = placeOn(path, fromM + ((toM - fromM) * i) / steps)
    return { xM: point.xM + left.xM * offsetM, yM: point.yM + left.yM * offsetM }
  })
}

/** Returns the index of the segment that contains `alongM`; `from` is the first segment to search. */
export function segmentAt(path: Path, alongM: number, from = 0): number {
  let i = from
  while (i < path.points.length - 2 && (path.atM[i + 1] ?? 0) <= alongM) i++
  return i
}

function withoutRepeats(points: readonly Point[]): Point[] {
  return points.filter((point, i) => {
    const previous = points[i - 1]
    return previous === undefined || distanceM(previous, point) > 0.01
  })
}

/** Chaikin's corner cutting; both ends stay where they are. */
function smooth(corners: readonly Point[]): Point[] {
  let points = [...corners]
  for (let round = 0; round < SMOOTHING_ROUNDS && points.length > 2; round++) {
    const cut: Point[] = points.slice(0, 1)
    for (const [i, a] of points.entries()) {
      const b = points[i + 1]
      if (b === undefined) break
      if (i > 0) cut.push(between(a, b, 0.25))
      if (i < points.length - 2) cut.push(between(a, b, 0.75))
    }
    points = [...cut, ...points.slice(-1)]
  }
  return points
}

function distancesAlong(points: readonly Point[]): number[] {
  let alongM = 0
  return points.map((point, i) => {
    const previous = points[i - 1]
    if (previous !== undefined) alongM += distanceM(previous, point)
    return alongM
  })
}

function speedLimits(points: readonly Point[], atM: readonly number[]): number[] {
  const limits = points.map((_, i) => bendLimitMps(points, i))
  limits[limits.length - 1] = 0
  for (let i = limits.length - 2; i >= 0; i--) {
    const roomM = (atM[i + 1] ?? 0) - (atM[i] ?? 0)
    const fromNext = Math.sqrt((limits[i + 1] ?? 0) ** 2 + 2 * BRAKING_MPS2 * roomM)
    limits[i] = Math.min(limits[i] ?? fromNext, fromNext)
  }
  return limits
}

function bendLimitMps(points: readonly Point[], i: number): number {
  const [before, at, after] = [points[i - 1], points[i], points[i + 1]]
  if (before === undefined || at === undefined || after === undefined) return Number.POSITIVE_INFINITY
  const inX = at.xM - before.xM
  const inY = at.yM - before.yM
  const outX = after.xM - at.xM
  const outY = after.yM - at.yM
  const turn = Math.abs(Math.atan2(inX * outY - inY * outX, inX * outX + inY * outY))
  if (turn < 1e-6) return Number.POSITIVE_INFINITY
  const turnM = Math.min(LONGEST_TURN_M, distanceM(before, at), distanceM(at, after))
  return Math.max(SLOWEST_BEND_MPS, Math.sqrt((LATERAL_MPS2 * turnM) / turn))
}
