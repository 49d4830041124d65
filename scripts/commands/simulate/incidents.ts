import type { Cart } from './course/cart.ts'
import type { Course } from './course/course.ts'
import type { Activity } from './course/itinerary.ts'
import { createPath } from './course/path.ts'
import { between, distanceM, type Point } from './course/plane.ts'
import { boundaryOf } from './course/zones.ts'

/** What happens to a cart of a live fleet, so that there is something to be warned of. */
export type Incident =
  | 'runs low'
  | 'leaves the course'
  | 'falls asleep'
  | 'falls silent'
  | 'is left unlocked'
  | 'plays slowly'

/** What of the plan of a fleet incidents go by. */
interface Fleet {
  readonly carts: number
  readonly course: Course
  readonly hasIncidents?: boolean
}

/**
 * By the index of a cart: the first has a screen only, which says its voltage every few seconds; the third and the
 * fourth have what can sleep and what reports while it drives; the eleventh and the twelfth play in one group.
 */
const INCIDENTS: Readonly<Record<number, Incident>> = {
  2: 'runs low',
  3: 'leaves the course',
  5: 'falls asleep',
  7: 'falls silent',
  9: 'is left unlocked',
  10: 'plays slowly',
  11: 'plays slowly',
}
/** Smaller fleets drive undisturbed. */
const SMALLEST_FLEET = 10

const LOW_CHARGE = 0.12
const LOW_AFTER_S = 60
/** Longer than voltage needs to be one at rest. */
const STANDS_S = 720
const LEAVES_AFTER_S = 90
const STRAYS_M = 120
const OUTSIDE_S = 420
const STRAY_MPS = 5
const LOCKED_AFTER_S = 60
const SILENT_FROM_S = 120
const SILENT_S = 2700
/** When somebody of the staff sees the cart that was left unlocked. */
const SEEN_AFTER_S = 2700

/** What happens to the cart of that index; undefined to most. */
export function incidentOf({ carts, hasIncidents }: Omit<Fleet, 'course'>, index: number): Incident | undefined {
  return hasIncidents && carts >= SMALLEST_FLEET ? INCIDENTS[index] : undefined
}

/** Prepares a cart, at the moment in which the fleet begins to drive live. */
export function prepareIncident(cart: Cart, incident: Incident | undefined): void {
  if (incident === 'runs low') cart.drainTo(LOW_CHARGE)
  else if (incident === 'falls asleep') cart.comeBack([...locked(LOCKED_AFTER_S), { kind: 'plug-in' }])
  else if (incident === 'is left unlocked') cart.comeBack(locked(SEEN_AFTER_S))
}

/** Lets happen what is due `second` model seconds after the fleet began to drive live. */
export function stepIncident(cart: Cart, incident: Incident | undefined, second: number, plan: Fleet): void {
  if (incident === 'runs low' && second === LOW_AFTER_S) cart.interrupt(() => [{ kind: 'wait', seconds: STANDS_S }])
  if (incident === 'leaves the course' && second === LEAVES_AFTER_S)
    cart.interrupt((from) => wayOutside(from, boundaryOf(plan.course, plan.carts)))
}

/** Whether nothing of the cart can be heard, wherever it is. */
export function isMuted(incident: Incident | undefined, second: number): boolean {
  return incident === 'falls silent' && second >= SILENT_FROM_S && second < SILENT_FROM_S + SILENT_S
}

function locked(afterS: number): Activity[] {
  return [
    { kind: 'wait', seconds: afterS },
    { kind: 'turn-lock', action: { event: 'lock', source: 'key' } },
  ]
}

/** Straight over the nearest edge, and back to where it was. */
function wayOutside(from: Point, boundary: readonly Point[]): Activity[] {
  const edge = nearestEdgePoint(from, boundary)
  const toEdgeM = distanceM(from, edge)
  const outside = between(from, edge, (toEdgeM + STRAYS_M) / toEdgeM)
  return [
    { kind: 'drive', path: createPath([from, outside]), cruiseMps: STRAY_MPS },
    { kind: 'wait', seconds: OUTSIDE_S },
    { kind: 'drive', path: createPath([outside, from]), cruiseMps: STRAY_MPS },
  ]
}

function nearestEdgePoint(from: Point, ring: readonly Point[]): Point {
  const nearest = ring.map((a, i) => nearestOn(from, a, ring[(i + 1) % ring.length] ?? a))
  return nearest.reduce((best, point) => (distanceM(from, point) < distanceM(from, best) ? point : best))
}

function nearestOn(from: Point, a: Point, b: Point): Point {
  const lengthM = Math.max(1e-6, distanceM(a, b))
  const along = ((from.xM - a.xM) * (b.xM - a.xM) + (from.yM - a.yM) * (b.yM - a.yM)) / lengthM ** 2
  return between(a, b, Math.min(1, Math.max(0, along)))
}
