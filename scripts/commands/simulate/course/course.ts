import { createRandom, type Random } from '#shared/random.ts'
import { createPath, type Path, placeOn } from './path.ts'
import { between, type LatLong, type Point } from './plane.ts'

export interface Hole {
  /** 1 to 18. */
  readonly number: number
  readonly par: 3 | 4 | 5
  readonly tee: Point
  readonly green: Point
  /** From tee to green. */
  readonly fairway: Path
}

/** Golf course: two loops of nine holes, west and east, that both start and end at the clubhouse. */
export interface Course {
  readonly center: LatLong
  readonly clubhouse: Point
  /** Cart barn; carts stand in bays to its south. */
  readonly barn: Point
  readonly holes: readonly Hole[]
}

const PARS = [4, 4, 3, 5, 4, 4, 3, 4, 5] as const
const HOLE_LENGTH_M = { 3: [130, 190], 4: [290, 410], 5: [440, 530] } as const
const BAYS_PER_ROW = 20
const CLUBHOUSE: Point = { xM: 0, yM: 0 }
const BARN: Point = { xM: 110, yM: -10 }

export function createCourse(seed: number, center: LatLong): Course {
  const random = createRandom(seed, 'course')
  return {
    center,
    clubhouse: CLUBHOUSE,
    barn: BARN,
    holes: [...layNine(random, 1, -1), ...layNine(random, 10, 1)],
  }
}

export function bayOf(course: Course, cartIndex: number): Point {
  const row = Math.floor(cartIndex / BAYS_PER_ROW)
  return { xM: course.barn.xM + (cartIndex % BAYS_PER_ROW) * 2, yM: course.barn.yM - 8 - row * 4 }
}

/** Creates nine holes along a wavy ring next to the clubhouse; `side` -1 is west, 1 is east. */
function layNine(random: Random, firstNumber: number, side: -1 | 1): Hole[] {
  const pars = [...PARS]
  const lengthsM = pars.map((par) => random.between(HOLE_LENGTH_M[par][0], HOLE_LENGTH_M[par][1]))
  const gapsM = Array.from({ length: pars.length + 1 }, () => random.between(50, 85))
  const ringM = [...lengthsM, ...gapsM].reduce((sum, length) => sum + length, 0)
  const ring = layRing(random, side, ringM)
  let alongM = 0
  return pars.map((par, i) => {
    alongM += gapsM[i] ?? 60
    const fromM = alongM
    alongM += lengthsM[i] ?? 300
    return layHole(random, firstNumber + i, par, ring, fromM, alongM)
  })
}

/** Creates a closed line of the given length through the clubhouse. */
function layRing(random: Random, side: -1 | 1, lengthM: number): Path {
  const waves = random.integer(3, 4)
  const phase = random.between(0, 2 * Math.PI)
  const raw = Array.from({ length: 121 }, (_, i) => {
    const angle = (i / 120) * 2 * Math.PI
    const radius = 1 + 0.22 * Math.sin(waves * angle + phase)
    return { xM: 1 - radius * Math.cos(angle), yM: 0.75 * radius * Math.sin(angle) }
  })
  const start = raw[0] ?? CLUBHOUSE
  const scale = lengthM / createPath(raw).lengthM
  return createPath(raw.map(({ xM, yM }) => ({ xM: side * (xM - start.xM) * scale, yM: (yM - start.yM) * scale })))
}

function layHole(random: Random, number: number, par: 3 | 4 | 5, ring: Path, fromM: number, toM: number): Hole {
  const tee = placeOn(ring, fromM).point
  const green = placeOn(ring, toM).point
  const bend = placeOn(ring, (fromM + toM) / 2).point
  // a par 3 is straight; the others follow the bend of the ring, to a varying degree
  const dogleg = between(between(tee, green, 0.5), bend, par === 3 ? 0 : random.between(0.4, 1))
  return { number, par, tee, green, fairway: createPath([tee, dogleg, green]) }
}
