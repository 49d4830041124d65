import { COMPACT_BYTES_MAX, compactBytes, isForTeeboxes } from './compact.ts'
import { simplify, weightsOf } from './simplify.ts'
import type { Zone } from './zone.ts'

/** Maximum number of zones per group that devices act on or display; those only for the cart rules do not count. */
export const DEVICE_ZONES_MAX = 100

/** Zones as sent to teeboxes. */
export interface DeviceZones {
  /** Simplified until the message fits. */
  zones: readonly Zone[]
  /**
   * Size of the message with the longest possible version; above `COMPACT_BYTES_MAX` if simplifying did not suffice.
   */
  bytes: number
  /** Maximum distance between a simplified edge and the original one, in metres; 0 if all corners are present. */
  lossM: number
}

/** Finest tolerance; carts are not driven more precisely. */
const FINEST_M = 0.01

/** Zone that can be simplified, with the bytes that this saves. */
interface Shaved {
  place: number
  weights: Float64Array
  /** Size of each corner in the message. */
  corners: readonly number[]
}

/**
 * Simplifies zones step by step until their message fits: all by the same tolerance, and by no more than necessary.
 * `weigh` may cache the weights of rings, because groups have most of their zones in common.
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
    // a ring that would have crossed itself kept more corners than estimated
    if (fitted.bytes <= COMPACT_BYTES_MAX || toleranceM >= most) return fitted
    toleranceM = Math.min(most, toleranceM * 1.1)
  }
}

/** Number of zones that count towards `DEVICE_ZONES_MAX`: `hole` and `boundary` only locate a cart. */
export function countForDevices(zones: readonly Zone[]): number {
  return zones.filter(({ type, isEnabled }) => isEnabled && type !== 'hole' && type !== 'boundary').length
}

function shavedOf(zone: Zone, place: number, weigh: typeof weightsOf): Shaved[] {
  const { shape } = zone
  if (!isForTeeboxes(zone) || shape.kind !== 'polygon') return []
  const corners = shape.ring.map(({ latE7, longE7 }) => `${latE7},${longE7},`.length)
  return [{ place, weights: weigh(shape.ring), corners }]
}

/** Estimates the lowest tolerance that is sufficient, to a centimetre, from the lengths; at most `mostM`. */
function leastTolerance(shaved: readonly Shaved[], bytes: number, mostM: number): number {
  let [tooLittle, enough] = [0, mostM]
  while (enough - tooLittle > FINEST_M) {
    const middle = (tooLittle + enough) / 2
    if (bytes - savedBy(shaved, middle) <= COMPACT_BYTES_MAX) enough = middle
    else tooLittle = middle
  }
  return enough
}

// called many times for each group of a large site
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
