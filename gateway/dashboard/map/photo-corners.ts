import { applied } from './affine.ts'
import { toLat, toLong } from './mercator.ts'
import type { Affine } from './placing.ts'

/** Formats the positions of an image's corners, clockwise from its top left, as `PUT /course/photo` expects them. */
export function cornersOf(affine: Affine, { width, height }: { width: number; height: number }): string {
  return [applied(affine, 0, 0), applied(affine, width, 0), applied(affine, width, height), applied(affine, 0, height)]
    .map(([x, y]) => `${toLat(y).toFixed(7)},${toLong(x).toFixed(7)}`)
    .join(';')
}
