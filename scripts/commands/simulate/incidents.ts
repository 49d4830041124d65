import type { CallMessage } from '#shared/wire/mqtt.ts'
import type { Cart } from './course/cart.ts'
import type { Course } from './course/course.ts'
import type { Activity } from './course/itinerary.ts'
import { createPath } from './course/path.ts'
import { between, distanceM, type Point } from './course/plane.ts'
import { boundaryOf } from './course/zones.ts'

/** Incident of a cart in a live fleet, which causes alerts. */
export type Incident =
  | 'calls'
  | 'runs low'
  | 'leaves the course'
  | 'falls asleep'
  | 'falls silent'
  | 'is left unlocked'
  | 'plays slowly'

/** Facts about a fleet that incidents depend on. */
interface Fleet {
  readonly carts: number
  readonly course: Course
  readonly hasIncidents?: boolean
}

/**
 * Keyed by cart index: the first has only a screen, which reports its voltage every few seconds; the third and fourth
 * have devices that can sleep and devices that report while driving; the eleventh and twelfth play in one group.
 */
const INCIDENTS: Readonly<Record<number, Incident>> = {
  0: 'calls',
  2: 'runs low',
  3: 'leaves the course',
  5: 'falls asleep',
  7: 'falls silent',
  9: 'is left unlocked',
  10: 'plays slowly',
  11: 'plays slowly',
}
/** Smaller fleets have no incidents. */
const SMALLEST_FLEET = 10

/** Calls of the golfer, keyed by the model second of the incident. */
const CALLS: Readonly<Record<number, Pick<CallMessage, 'call' | 'text'>>> = {
  30: { call: 'order', text: 'Two waters at hole 9, please' },
  60: { call: 'ranger', text: 'A golfer twisted an ankle' },
}
const LOW_CHARGE = 0.12
const LOW_AFTER_S = 60
/** Longer than a voltage takes to count as resting. */
const STANDS_S = 720
const LEAVES_AFTER_S = 90
const STRAYS_M = 120
const OUTSIDE_S = 420
const STRAY_MPS = 5
const LOCKED_AFTER_S = 60
const SILENT_FROM_S = 120
const SILENT_S = 2700
/** Time after which staff see the cart that was left unlocked. */
const SEEN_AFTER_S = 2700

/** Returns the incident of the cart with this index; undefined for most. */
export function incidentOf({ carts, hasIncidents }: Omit<Fleet, 'course'>, index: number): Incident | undefined {
  return hasIncidents && carts >= SMALLEST_FLEET ? INCIDENTS[index] : undefined
}

/** Prepares a cart when the fleet starts to drive live. */
export function prepareIncident(cart: Cart, incident: Incident | undefined): void {
  if (incident === 'runs low') cart.drainTo(LOW_CHARGE)
  else if (incident === 'falls asleep') cart.comeBack([...locked(LOCKED_AFTER_S), { kind: 'plug-in' }])
  else if (incident === 'is left unlocked') cart.comeBack(locked(SEEN_AFTER_S))
}

/** Applies the incident that is due `second` model seconds after the fleet started to drive live. */
export function stepIncident(cart: Cart, incident: Incident | undefined, second: number, plan: Fleet): void {
  if (incident === 'runs low' && second === LOW_AFTER_S) cart.interrupt(() => [{ kind: 'wait', seconds: STANDS_S }])
  if (incident === 'leaves the course' && second === LEAVES_AFTER_S)
    cart.interrupt((from) => wayOutside(from, boundaryOf(plan.course, plan.carts)))
}

/** Returns the call that is due then. */
export function callDue(
  incident: Incident | undefined,
  second: number,
): Pick<CallMessage, 'call' | 'text'> | undefined {
  return incident === 'calls' ? CALLS[second] : undefined
}

/** True if no device of the cart can send, wherever it is. */
export function isMuted(incident: Incident | undefined, second: number): boolean {
  return incident === 'falls silent' && second >= SILENT_FROM_S && second < SILENT_FROM_S + SILENT_S
}

function locked(afterS: number): Activity[] {
  return [
    { kind: 'wait', seconds: afterS },
    { kind: 'turn-lock', action: { event: 'lock', source: 'key' } },
  ]
}

/** Returns the path straight over the nearest edge, and back. */
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
