import { createRandom } from '#shared/random.ts'
import type { Course } from './course.ts'
import { placeOn } from './path.ts'
import { distanceM, type Point } from './plane.ts'

/** Circle on the course without radio coverage. */
export interface Shadow {
  readonly center: Point
  readonly radiusM: number
}

const SHADOWED_HOLES = 3

/** Returns the areas without coverage: a stretch of three fairways, never near the clubhouse or the barn. */
export function createShadows(seed: number, course: Course): Shadow[] {
  const random = createRandom(seed, 'radio')
  const long = course.holes.filter((hole) => hole.par > 3 && hole.number % 9 > 1)
  return Array.from({ length: SHADOWED_HOLES }, () => {
    const [hole] = long.splice(random.integer(0, long.length - 1), 1)
    if (hole === undefined) throw new Error('The course has no hole left for a shadow')
    const { point } = placeOn(hole.fairway, hole.fairway.lengthM * random.between(0.4, 0.75))
    return { center: point, radiusM: random.between(60, 110) }
  })
}

export function isInShadow(shadows: readonly Shadow[], point: Point): boolean {
  return shadows.some(({ center, radiusM }) => distanceM(center, point) < radiusM)
}
