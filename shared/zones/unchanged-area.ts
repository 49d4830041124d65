import { distanceM, distanceToRingM, type Point, type Scale, scaleAt } from './geometry.ts'
import { type Fix, isInForCertain, RETURN_M, type ZoneState } from './watch.ts'
import type { WatchedZone, WatchedZones } from './watched-zones.ts'

/** Maximum distance that a cart drives between two fixes. */
const FARTHEST_M = 60
/** Latitude up to which the planes around two such close positions differ by less than the margin below. */
const STEEPEST_E7 = 80e7
/** Safety margin of a hundredth; planes differ by a ten-thousandth, and rounding errors are smaller. */
const SHARE = 0.99
const LESS_M = 0.1

/**
 * Circle around a fix that no edge of a zone or of its buffer crosses. For fixes inside it `watch` reports no event,
 * and the only state that changes is the last outside position, for zones that the cart left and is still near.
 */
export class UnchangedArea {
  /** Zone states at its centre. */
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
   * Creates the area around the last fix, with the zone states after it. Null if it would not contain the next fix,
   * which may still change nothing.
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

  /** Returns the zone states after the last fix inside: the same array if nothing has changed. */
  after(last: Fix): readonly ZoneState[] {
    if (this.#leaving.length === 0) return this.known
    return this.known.map((state) => (this.#leaving.includes(state) ? { ...state, outsideAt: last } : state))
  }
}

/** True if the whole reach of a zone is farther away. */
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

/** Distance that a cart may drive from its last fix, this far from the edge of a zone, without changing the state. */
function roomKnownM(state: ZoneState, { bufferM }: WatchedZone, last: Fix, edgeM: number): number {
  const { isInside, turnedAt, passed, leftAt } = state
  const isInBuffer = edgeM <= bufferM
  // in the buffer the position may be on either side of the edge
  if (isInside) return !isInForCertain(state) ? 0 : isInBuffer ? bufferM - edgeM : edgeM + bufferM
  if (turnedAt !== undefined || passed !== undefined) return 0
  const leftM = leftAt === undefined ? Number.POSITIVE_INFINITY : RETURN_M - distanceM(leftAt, last)
  if (isInBuffer) return Math.min(leftM, edgeM, bufferM - edgeM)
  // the last fix was outside: a state with nothing pending exists only while the cart is near the point where it left
  return Math.min(leftM, edgeM - bufferM)
}
