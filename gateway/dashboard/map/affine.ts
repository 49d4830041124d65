import type { Affine } from './placing.ts'

/** Same spot on two planes. */
export interface Pair {
  from: readonly [x: number, y: number]
  to: readonly [x: number, y: number]
}

/** Minimum height of a triangle as a share of its longest side: a flatter one leaves the second direction open. */
const FLATTEST = 0.02

/**
 * Fits the transformation of the first places of the pairs onto the second ones by least squares. For two pairs, or
 * places in a line, it moves, rotates and scales; `isMirrored` means that one plane counts downwards. For more pairs it
 * may also shear. Null if the places do not determine it.
 */
export function fitAffine(pairs: readonly Pair[], isMirrored = true): Affine | null {
  const from = middleOf(pairs.map((pair) => pair.from))
  const to = middleOf(pairs.map((pair) => pair.to))
  const moved = pairs.map((pair) => ({
    x: pair.from[0] - from[0],
    y: pair.from[1] - from[1],
    u: pair.to[0] - to[0],
    v: pair.to[1] - to[1],
  }))
  const sum = (of: (one: (typeof moved)[number]) => number) => moved.reduce((all, one) => all + of(one), 0)
  const [xx, xy, yy] = [sum(({ x }) => x * x), sum(({ x, y }) => x * y), sum(({ y }) => y * y)]
  const spread = xx + yy
  if (pairs.length < 2 || !(spread > 0)) return null
  const determinant = xx * yy - xy * xy
  let [a, b, c, d]: [number, number, number, number] = [0, 0, 0, 0]
  if (pairs.length > 2 && determinant > (FLATTEST * spread) ** 2) {
    const xu = sum(({ x, u }) => x * u)
    const yu = sum(({ y, u }) => y * u)
    const xv = sum(({ x, v }) => x * v)
    const yv = sum(({ y, v }) => y * v)
    a = (xu * yy - yu * xy) / determinant
    c = (yu * xx - xu * xy) / determinant
    b = (xv * yy - yv * xy) / determinant
    d = (yv * xx - xv * xy) / determinant
  } else {
    const down = isMirrored ? -1 : 1
    const along = sum(({ x, y, u, v }) => x * u + down * y * v) / spread
    const across = sum(({ x, y, u, v }) => x * v - down * y * u) / spread
    ;[a, b, c, d] = [along, across, -down * across, down * along]
  }
  if (!(Math.abs(a * d - b * c) > 0)) return null
  return [a, b, c, d, to[0] - a * from[0] - c * from[1], to[1] - b * from[0] - d * from[1]]
}

/** Applies a transformation to a place. */
export function applied([a, b, c, d, e, f]: Affine, x: number, y: number): [x: number, y: number] {
  return [a * x + c * y + e, b * x + d * y + f]
}

/** Returns the largest distance between a transformed first place and its second place. */
export function worstMiss(pairs: readonly Pair[], affine: Affine): number {
  return Math.max(
    0,
    ...pairs.map(({ from, to }) => {
      const [x, y] = applied(affine, ...from)
      return Math.hypot(x - to[0], y - to[1])
    }),
  )
}

function middleOf(places: readonly (readonly [number, number])[]): [number, number] {
  const sum = places.reduce<[number, number]>(([x, y], place) => [x + place[0], y + place[1]], [0, 0])
  const count = Math.max(1, places.length)
  return [sum[0] / count, sum[1] / count]
}
