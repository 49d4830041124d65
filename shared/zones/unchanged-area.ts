import { distanceM, distanceToRingM, type Point, type Scale, scaleAt } from './geometry.ts'
import { type Fix, isInForCertain, RETURN_M, type ZoneState } from './watch.ts'
import type { WatchedZone, WatchedZones } from './watched-zones.ts'

/** Farther no cart gets between two fixes. */
const FARTHEST_M = 60
/** So far north or south the planes around two places so near differ by less than is left off below. */
const STEEPEST_E7 = 80e7
/** What is left off: a hundredth, where planes differ by a ten thousandth, and more than is rounded. */
const SHARE = 0.99
const LESS_M = 0.1

/**
 * A circle around a fix that no edge of a zone leads through, nor that of the buffer around it. Whatever fixes follow
 * in there, `watch` tells nothing of them, and of what it knows only this changes: where the cart was outside last, of
 * zones that it left and is still near to.
 */
export class UnchangedArea {
  /** What was known of zones at its middle. */
  readonly known: readonly ZoneState[]
  readonly #middle: Point
  readonly #scale: Scale
  readonly #radiusM: number
  readonly #leaving: readonly ZoneState[]

  private constructor(
    known: readonly ZoneState[],
    middle: Point,
    { scale, radiusM, leaving }: { scale: Scale; radiusM: number; leaving: readonly ZoneState[] },
  ) {
    this.known = known
    this.#middle = middle
    this.#scale = scale
    this.#radiusM = radiusM
    this.#leaving = leaving
  }

  /**
   * Draws the one around the last fix, after which that is known of the zones watched. Null where it would not hold the
   * next fix: it may still change nothing.
   */
  static draw(watched: WatchedZones, known: readonly ZoneState[], last: Fix, next: Point): UnchangedArea | null {
    const scale = scaleAt(last.latE7)
    const wayM = Math.hypot((next.latE7 - last.latE7) * scale.latM, (next.longE7 - last.longE7) * scale.longM)
    const leastM = wayM / SHARE + LESS_M
    const leaving: ZoneState[] = []
    let roomM = Math.abs(last.latE7) > STEEPEST_E7 ? 0 : FARTHEST_M
    let knownPlace = 0
    for (const zone of watched.zones) {
      if (roomM < leastM) return null
      const state = known[knownPlace]
      if (state?.id === zone.id) {
        knownPlace++
        const edgeM = distanceToEdgeM(zone, last)
        roomM = Math.min(roomM, roomKnownM(state, zone, last, edgeM))
        if (!state.isInside && edgeM > zone.bufferM) leaving.push(state)
      } else if (!isBeyond(zone, last, scale, roomM))
        roomM = Math.min(roomM, distanceToEdgeM(zone, last) - zone.bufferM)
    }
    if (roomM < leastM) return null
    return new UnchangedArea(known, last, { scale, radiusM: (roomM - LESS_M) * SHARE, leaving })
  }

  holds(latE7: number, longE7: number): boolean {
    const northM = (latE7 - this.#middle.latE7) * this.#scale.latM
    const eastM = (longE7 - this.#middle.longE7) * this.#scale.longM
    return northM * northM + eastM * eastM <= this.#radiusM * this.#radiusM
  }

  /** What is known of zones when that was the last fix in there: the same array if nothing else is. */
  after(last: Fix): readonly ZoneState[] {
    if (this.#leaving.length === 0) return this.known
    return this.known.map((state) => (this.#leaving.includes(state) ? { ...state, outsideAt: last } : state))
  }
}

/** Whether all that a zone reaches is farther away. */
function isBeyond(
  { reach: { south, west, north, east } }: WatchedZone,
  { latE7, longE7 }: Point,
  { latM, longM }: Scale,
  byM: number,
): boolean {
  return Math.max(south - latE7, latE7 - north) * latM > byM || Math.max(west - longE7, longE7 - east) * longM > byM
}

function distanceToEdgeM({ shape, packed }: WatchedZone, place: Point): number {
  if (shape.kind === 'polygon') return distanceToRingM(packed, place)
  return Math.abs(distanceM(shape.center, place) - shape.radiusM)
}

/** How far a cart may go from its last fix, so far from the edge of a zone, without changing what is known of it. */
function roomKnownM(state: ZoneState, { bufferM }: WatchedZone, last: Fix, edgeM: number): number {
  const { isInside, turnedAt, passed, leftAt } = state
  const isInBuffer = edgeM <= bufferM
  // in the buffer it may be on either side of the edge
  if (isInside) return !isInForCertain(state) ? 0 : isInBuffer ? bufferM - edgeM : edgeM + bufferM
  if (turnedAt !== undefined || passed !== undefined) return 0
  const leftM = leftAt === undefined ? Number.POSITIVE_INFINITY : RETURN_M - distanceM(leftAt, last)
  if (isInBuffer) return Math.min(leftM, edgeM, bufferM - edgeM)
  // it was outside at the last fix: one of which nothing is open is known only while it is near to where the cart left
  // it
  return Math.min(leftM, edgeM - bufferM)
}
