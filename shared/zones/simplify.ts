import { type Point, scaleAt } from './geometry.ts'
import { faultOf } from './ring.ts'

/** Ring with fewer corners, and its maximum distance from the original one in metres. */
export interface Simplified {
  ring: readonly Point[]
  lossM: number
}

/**
 * Weight of each corner of a ring in metres: reduced to the corners with a weight above x, the ring deviates by x at
 * most. Three corners have an infinite weight. Source: Douglas and Peucker, 1973.
 */
export function weightsOf(ring: readonly Point[]): Float64Array {
  const weights = new Float64Array(ring.length)
  const [first] = ring
  if (first === undefined) return weights
  const { latM, longM } = scaleAt(first.latE7)
  const xs = ring.map(({ longE7 }) => (longE7 - first.longE7) * longM)
  const ys = ring.map(({ latE7 }) => (latE7 - first.latE7) * latM)
  const plane = { xs, ys, weights }
  // the corner farthest from the first one, and the corner farthest from the line between the two
  const across = farthest(plane, 0, 0, ring.length).at
  const [one, other] = [farthest(plane, 0, across, across), farthest(plane, across, 0, ring.length)]
  const second = one.distanceM >= other.distanceM ? one.at : other.at
  const anchors = [...new Set([0, across, second])].sort((a, b) => a - b)
  for (const at of anchors) weights[at] = Number.POSITIVE_INFINITY
  for (const [i, from] of anchors.entries()) weigh(plane, from, anchors[i + 1] ?? ring.length, Number.POSITIVE_INFINITY)
  return weights
}

/** Reduces a ring to the corners with a weight above the tolerance; keeps more of them if it would cross itself. */
export function simplify(ring: readonly Point[], weights: Float64Array, toleranceM: number): Simplified {
  for (let most = toleranceM; most > 0.001; most /= 2) {
    const kept = ring.filter((_, at) => (weights[at] ?? 0) > most)
    if (kept.length === ring.length) break
    if (faultOf(kept.map(({ latE7, longE7 }, at) => ({ latE7, longE7, at }))) !== null) continue
    let lossM = 0
    for (const weight of weights) if (weight <= most) lossM = Math.max(lossM, weight)
    return { ring: kept, lossM }
  }
  return { ring, lossM: 0 }
}

interface Plane {
  xs: readonly number[]
  ys: readonly number[]
  weights: Float64Array
}

/** Weighs the corners between two that stay; `to` may be one past the last, which means the first. */
function weigh(plane: Plane, from: number, to: number, mostM: number): void {
  if (to - from < 2) return
  const { at, distanceM } = farthest(plane, from, to, to)
  // a corner cannot outweigh the longer segment that contains it
  const weight = Math.min(mostM, distanceM)
  plane.weights[at] = weight
  weigh(plane, from, at, weight)
  weigh(plane, at, to, weight)
}

/** Returns the corner between `from` and `end` that is farthest from the straight line from `from` to `to`. */
function farthest({ xs, ys }: Plane, from: number, to: number, end: number): { at: number; distanceM: number } {
  const [x, y] = [xs[from] ?? 0, ys[from] ?? 0]
  const dx = (xs[to % xs.length] ?? 0) - x
  const dy = (ys[to % ys.length] ?? 0) - y
  const length = dx * dx + dy * dy
  let [found, most] = [from, -1]
  for (let at = from + 1; at < end; at++) {
    const [px, py] = [(xs[at] ?? 0) - x, (ys[at] ?? 0) - y]
    const along = length === 0 ? 0 : Math.min(1, Math.max(0, (px * dx + py * dy) / length))
    const squared = (px - along * dx) ** 2 + (py - along * dy) ** 2
    if (squared > most) [found, most] = [at, squared]
  }
  return { at: found, distanceM: most < 0 ? -1 : Math.sqrt(most) }
}
