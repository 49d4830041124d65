import { toE7 } from '#shared/geo.ts'
import { type Point, scaleAt } from '#shared/zones/geometry.ts'
import type { Position } from './course.ts'

/** Point on the local plane of a course: metres east and north of its centre. */
export interface Place {
  xM: number
  yM: number
}

/** Local plane around a place, accurate to centimetres over the size of a golf course. */
export class Plane {
  readonly #longE7: number
  readonly #latE7: number
  readonly #scale: { latM: number; longM: number }

  constructor([long, lat]: Readonly<Position>) {
    this.#longE7 = toE7(long)
    this.#latE7 = toE7(lat)
    this.#scale = scaleAt(this.#latE7)
  }

  place([long, lat]: Readonly<Position>): Place {
    return {
      xM: (toE7(long) - this.#longE7) * this.#scale.longM,
      yM: (toE7(lat) - this.#latE7) * this.#scale.latM,
    }
  }

  point({ xM, yM }: Place): Point {
    return {
      latE7: Math.round(this.#latE7 + yM / this.#scale.latM),
      longE7: Math.round(this.#longE7 + xM / this.#scale.longM),
    }
  }
}

export function metresBetween(a: Place, b: Place): number {
  return Math.hypot(b.xM - a.xM, b.yM - a.yM)
}

/** True if the place is inside the ring, by the number of edges that a ray to the east crosses. */
export function isInside(ring: readonly Place[], { xM, yM }: Place): boolean {
  let isIn = false
  let from = ring.at(-1)
  for (const to of ring) {
    if (from !== undefined && from.yM > yM !== to.yM > yM) {
      const crossing = from.xM + ((yM - from.yM) / (to.yM - from.yM)) * (to.xM - from.xM)
      if (crossing > xM) isIn = !isIn
    }
    from = to
  }
  return isIn
}

/** Area in square metres. */
export function areaOf(ring: readonly Place[]): number {
  let twice = 0
  let from = ring.at(-1)
  for (const to of ring) {
    if (from !== undefined) twice += from.xM * to.yM - to.xM * from.yM
    from = to
  }
  return Math.abs(twice) / 2
}
