import { createRandom, type Random } from '#shared/random.ts'
import { bayOf, type Course, type Hole } from './course.ts'
import { createPath, type Path, parallelPath } from './path.ts'
import { between, type Point } from './plane.ts'

/** Locking or unlocking at the cart itself. */
export interface LockAction {
  readonly event: 'lock' | 'unlock'
  readonly source: 'rfid' | 'keypad' | 'key'
  /** Tag or typed code; a physical key has none. */
  readonly code?: string
}

/** Activity of a cart; `hole` is the hole it belongs to, if any. */
export type Activity =
  | { readonly kind: 'wait'; readonly seconds: number; readonly hole?: number }
  | { readonly kind: 'wait-until'; readonly second: number; readonly hole?: number }
  | { readonly kind: 'drive'; readonly path: Path; readonly cruiseMps: number; readonly hole?: number }
  | { readonly kind: 'turn-lock'; readonly action: LockAction }
  | { readonly kind: 'plug-in' }

/** Index of a cart in its fleet. Two consecutive carts play in one group. */
export interface CartPlace {
  readonly seed: number
  readonly index: number
  readonly fleetSize: number
  /** True if its group plays slowly. */
  readonly isSlow?: boolean
}

/** Local hour at which a model day starts, with every cart charged in the barn. */
export const DAY_START_HOUR = 4

const HOUR_S = 3600
/** Half past ten, in seconds of the model day: every cart is out on the course. */
export const MID_MORNING_S = (10.5 - DAY_START_HOUR) * HOUR_S
const FIRST_TEES_S = (8 + 40 / 60 - DAY_START_HOUR) * HOUR_S
const TEE_SPAN_S = 200 * 60
const LONGEST_TEE_GAP_S = 20 * 60
const AFTERNOON_S = (14 - DAY_START_HOUR) * HOUR_S
/** Driving time from the clubhouse to the first tee. */
const TO_TEE_S = 150
const KMH = 1 / 3.6
/** Factor of the time that a slow group stands to play. */
const SLOWNESS = 1.7

/**
 * Returns all activities of a cart on one day, in order, starting in its bay at 04:00: unlocked at the barn, a round
 * that may include a lunch after nine holes, back and locked; on some days a second round in the afternoon. Some
 * golfers leave the cart unlocked, until staff see it.
 */
export function planDay(course: Course, place: CartPlace, day: number): Activity[] {
  const group = Math.floor(place.index / 2)
  const random = createRandom(place.seed, 'cart', place.index, day)
  const groupRandom = createRandom(place.seed, 'group', group, day)
  const morning = teeSecond(place)
  const plan = new RoundPlan(course, place, random)
  plan.round(groupRandom, morning)
  if (groupRandom.chance(0.45)) {
    plan.add({ kind: 'plug-in' }, { kind: 'wait', seconds: random.integer(30, 45) * 60 })
    plan.round(groupRandom, AFTERNOON_S + 0.5 * (morning - FIRST_TEES_S))
  }
  plan.add({ kind: 'wait', seconds: random.integer(5, 25) * 60 }, { kind: 'plug-in' })
  return plan.activities
}

/** Seconds after 04:00 at which the group tees off; groups are spread so that all are on the course at mid-morning. */
function teeSecond({ index, fleetSize }: CartPlace): number {
  const groups = Math.ceil(fleetSize / 2)
  const gapS = Math.min(LONGEST_TEE_GAP_S, TEE_SPAN_S / groups)
  return Math.round(FIRST_TEES_S + gapS * (Math.floor(index / 2) - (groups - 1) / 2))
}

class RoundPlan {
  readonly activities: Activity[] = []
  readonly #course: Course
  readonly #bay: Point
  readonly #random: Random
  readonly #offsetM: number
  readonly #slowness: number
  #at: Point

  constructor(course: Course, place: CartPlace, random: Random) {
    this.#course = course
    this.#bay = bayOf(course, place.index)
    this.#random = random
    this.#at = this.#bay
    this.#slowness = place.isSlow === true ? SLOWNESS : 1
    this.#offsetM = random.between(7, 20) * (random.chance(0.5) ? 1 : -1)
  }

  add(...activities: Activity[]): void {
    this.activities.push(...activities)
  }

  /** Adds one round of 18 holes; `group` determines the pace shared by all carts of the group. */
  round(group: Random, teeOffSecond: number): void {
    const random = this.#random
    const tag = `04${random.integer(0, 0xffffff).toString(16).toUpperCase().padStart(6, '0')}`
    this.add({ kind: 'wait-until', second: teeOffSecond - random.integer(9, 16) * 60 })
    this.add({ kind: 'turn-lock', action: { event: 'unlock', source: 'rfid', code: tag } })
    this.#wait(random.integer(30, 120))
    this.#drive([this.#nearClubhouse()], 12)
    this.#wait(random.integer(60, 180))
    // a group that waits on the first tee would start behind schedule
    this.add({ kind: 'wait-until', second: teeOffSecond - TO_TEE_S })
    for (const hole of this.#course.holes) {
      if (hole.number === 10) this.#turn(group, tag)
      this.#play(hole, group, hole.number === 1 ? teeOffSecond : undefined)
    }
    this.#drive([this.#nearClubhouse()], 20)
    this.#wait(random.integer(120, 420))
    this.#drive([between(this.#course.clubhouse, this.#course.barn, 0.6), this.#bay], 11)
    this.#wait(random.integer(20, 60))
    const forgotten = random.chance(0.15)
    if (forgotten) this.#wait(random.integer(15, 40) * 60)
    const lockedWith = forgotten ? ({ source: 'key' } as const) : this.#lockedWith(tag)
    this.add({ kind: 'turn-lock', action: { event: 'lock', ...lockedWith } })
  }

  /** Adds the time after nine holes: past the clubhouse, or a lunch there with the cart locked. */
  #turn(group: Random, tag: string): void {
    this.#drive([this.#nearClubhouse()], 18)
    if (!group.chance(0.4)) {
      this.#wait(group.integer(120, 360))
      return
    }
    this.add({ kind: 'turn-lock', action: { event: 'lock', ...this.#lockedWith(tag) } })
    this.#wait(group.integer(12, 20) * 60)
    this.add({ kind: 'turn-lock', action: { event: 'unlock', source: 'rfid', code: tag } })
  }

  #play(hole: Hole, group: Random, teeOffSecond: number | undefined): void {
    const { fairway, number } = hole
    this.#drive([...parallelPath(fairway, 0, 2, this.#offsetM / 2).slice(0, 1)], group.between(14, 19), number)
    if (teeOffSecond !== undefined) this.add({ kind: 'wait-until', second: teeOffSecond, hole: number })
    this.#wait(group.integer(130, 260), number)
    const cruiseKmh = group.between(17, 24)
    let alongM = 0
    for (const stopM of strokes(hole, group)) {
      const untilM = stopM + this.#random.between(-12, 12)
      this.#drive(parallelPath(fairway, alongM, untilM, this.#offsetM).slice(1), cruiseKmh, number)
      this.#wait(group.integer(50, 120), number)
      alongM = untilM
    }
    this.#drive(parallelPath(fairway, alongM, fairway.lengthM - 10, this.#offsetM).slice(1), cruiseKmh, number)
    this.#wait(group.integer(200, 350), number)
  }

  #lockedWith(tag: string): Pick<LockAction, 'source' | 'code'> {
    const how = this.#random.next()
    if (how < 0.8) return { source: 'rfid', code: tag }
    return how < 0.9 ? { source: 'key' } : { source: 'keypad', code: String(this.#random.integer(1000, 9999)) }
  }

  #nearClubhouse(): Point {
    const { xM, yM } = this.#course.clubhouse
    return { xM: xM + this.#random.between(-15, 15), yM: yM - this.#random.between(12, 22) }
  }

  #drive(by: readonly Point[], cruiseKmh: number, hole?: number): void {
    const path = createPath([this.#at, ...by])
    this.#at = path.points.at(-1) ?? this.#at
    this.add({ kind: 'drive', path, cruiseMps: cruiseKmh * KMH, ...(hole !== undefined && { hole }) })
  }

  #wait(seconds: number, hole?: number): void {
    if (hole === undefined) this.add({ kind: 'wait', seconds })
    else this.add({ kind: 'wait', seconds: Math.round(seconds * this.#slowness), hole })
  }
}

/** Returns the stops of the group between tee and green, in metres from the tee. */
function strokes(hole: Hole, group: Random): number[] {
  if (hole.par === 3) return []
  const shares = hole.par === 4 ? [0.52, 0.8] : [0.42, 0.66, 0.87]
  return shares.map((share) => hole.fairway.lengthM * (share + group.between(-0.05, 0.05)))
}
