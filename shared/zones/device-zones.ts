import { COMPACT_BYTES_MAX, compactBytes, isForTeeboxes } from './compact.ts'
import { simplify, weightsOf } from './simplify.ts'
import type { Zone } from './zone.ts'

/** Zones that devices act on or show, in one group; those that only the rules of carts go by do not count. */
export const DEVICE_ZONES_MAX = 100

/** Zones as teeboxes get them. */
export interface DeviceZones {
  /** With as few corners as the message has room for. */
  zones: readonly Zone[]
  /** Of the message, with the longest version there can be; more than `COMPACT_BYTES_MAX` when nothing made it fit. */
  bytes: number
  /** How far the edge of any of them is from where it was, in metres; 0 when all corners are there. */
  lossM: number
}

/** Nobody drives as exactly. */
const FINEST_M = 0.01

/** A zone whose corners can be left out, with what that saves. */
interface Shaved {
  place: number
  weights: Float64Array
  /** Of each corner in the message. */
  corners: readonly number[]
}

/**
 * Zones simplified until their message fits, step by step: each by as many metres as the others, and by no more than it
 * takes. `weigh` may remember the weights of rings: groups have most of their zones in common.
 */
export function* fitZones(zones: readonly Zone[], weigh = weightsOf): Generator<void, DeviceZones> {
  const bytes = compactBytes(zones)
  if (bytes <= COMPACT_BYTES_MAX) return { zones, bytes, lossM: 0 }
  const shaved: Shaved[] = []
  for (const [place, zone] of zones.entries()) {
    yield
    shaved.push(...shavedOf(zone, place, weigh))
  }
  const most = Math.max(0, ...shaved.map(({ weights }) => largestFinite(weights)))
  let toleranceM = leastTolerance(shaved, bytes, most)
  for (;;) {
    const fitted = yield* simplifiedBy(zones, shaved, toleranceM)
    // where a ring would have crossed itself it kept more than was hoped for
    if (fitted.bytes <= COMPACT_BYTES_MAX || toleranceM >= most) return fitted
    toleranceM = Math.min(most, toleranceM * 1.1)
  }
}

/** How many zones count for `DEVICE_ZONES_MAX`: `hole` and `boundary` only say where a cart is. */
export function countForDevices(zones: readonly Zone[]): number {
  return zones.filter(({ type, isEnabled }) => isEnabled && type !== 'hole' && type !== 'boundary').length
}

function shavedOf(zone: Zone, place: number, weigh: typeof weightsOf): Shaved[] {
  const { shape } = zone
  if (!isForTeeboxes(zone) || shape.kind !== 'polygon') return []
  const corners = shape.ring.map(({ latE7, longE7 }) => `${latE7},${longE7},`.length)
  return [{ place, weights: weigh(shape.ring), corners }]
}

/**
 * The least number of metres by which all have to be simplified, to a centimetre, as far as lengths tell; at most
 * `mostM`.
 */
function leastTolerance(shaved: readonly Shaved[], bytes: number, mostM: number): number {
  let [tooLittle, enough] = [0, mostM]
  while (enough - tooLittle > FINEST_M) {
    const middle = (tooLittle + enough) / 2
    if (bytes - savedBy(shaved, middle) <= COMPACT_BYTES_MAX) enough = middle
    else tooLittle = middle
  }
  return enough
}

// of each group of a large site, many times
function savedBy(shaved: readonly Shaved[], toleranceM: number): number {
  let saved = 0
  for (const { weights, corners } of shaved)
    for (let at = 0; at < corners.length; at++) if ((weights[at] ?? 0) <= toleranceM) saved += corners[at] ?? 0
  return saved
}

function* simplifiedBy(zones: readonly Zone[], shaved: readonly Shaved[], toleranceM: number) {
  const simplified = [...zones]
  let lossM = 0
  for (const { place, weights } of shaved) {
    yield
    const zone = zones[place]
    if (zone?.shape.kind !== 'polygon') continue
    const { ring, lossM: lost } = simplify(zone.shape.ring, weights, toleranceM)
    if (ring === zone.shape.ring) continue
    simplified[place] = { ...zone, shape: { kind: 'polygon', ring } }
    lossM = Math.max(lossM, lost)
  }
  return { zones: simplified, bytes: compactBytes(simplified), lossM }
}

function largestFinite(weights: Float64Array): number {
  let largest = 0
  for (const weight of weights) if (Number.isFinite(weight)) largest = Math.max(largest, weight)
  return largest
}
