import type { SiteSettings } from '#shared/site/settings.ts'
import { isNewer } from '#shared/time.ts'
import { haversineM } from '#shared/trips/earth-distance.ts'

/** Below this nobody can say in which direction a receiver went. */
const HEADING_M = 5
/** A receiver at rest wanders this far. */
export const REST_RADIUS_M = 30
/** Speed is worked out only between fixes that are nearer in time. */
export const SPEED_WITHIN_MS = 60_000
/** While a cart drives its voltage drops: it is low when it falls so far below that of rest. */
const LOW_WHILE_DRIVING = 0.9
/** One reading may be a mistake. */
const LOW_READINGS = 2

/** A position as it was stored; degrees are 1e-7. */
export interface CartFix {
  atMs: number
  latE7: number
  longE7: number
  /** As the device said it; null when it did not. */
  speedKmh: number | null
}

/** What the fixes and voltages of one device say of the cart it is in: JSON, moved on by each sample in its order. */
export interface CartMotion {
  /** The newest fix, with the speed that it was reached with where the device said none. */
  fix: CartFix | null
  /** The fix that the heading is worked out from, and the heading: whole degrees from north. */
  headingFrom: { latE7: number; longE7: number } | null
  heading: number | null
  /** Where and since when (event time) it has not moved. */
  still: { latE7: number; longE7: number; sinceMs: number } | null
  battery: { atMs: number; voltageV: number } | null
  /** The newest voltage at rest. */
  rest: { atMs: number; voltageV: number } | null
  /** Readings in a row, while driving, that were far too low. */
  lowReadings: number
}

/** Of a device that has said nothing yet. */
export const NO_MOTION: CartMotion = {
  fix: null,
  headingFrom: null,
  heading: null,
  still: null,
  battery: null,
  rest: null,
  lowReadings: 0,
}

/** One sample of a device; fields that it did not carry are null. */
export interface CartSample {
  atMs: number
  position: { latE7: number; longE7: number; speedKmh: number | null } | null
  voltageV: number | null
}

/** Settings that motion goes by. */
export type MotionSettings = Pick<SiteSettings, 'restAfterS' | 'pack'> & { movingKmh: number }

/**
 * Moves on what is known by one sample. A sample that is not newer than what is known changes nothing; what is known
 * after `latestMs` was the mistake of a clock.
 */
export function moveOn(
  known: CartMotion,
  sample: CartSample,
  settings: MotionSettings,
  latestMs = Number.POSITIVE_INFINITY,
): CartMotion {
  let next = known
  const { atMs, position, voltageV } = sample
  if (position !== null && (known.fix === null || isNewer(atMs, known.fix.atMs, latestMs)))
    next = withFix(next, atMs, position, settings)
  if (voltageV !== null && (known.battery === null || isNewer(atMs, known.battery.atMs, latestMs)))
    next = withVoltage(next, atMs, voltageV, settings)
  return next
}

/** Stillness and rest begin anew: nobody knows how long it has stood by a clock that was set. */
export function restless(known: CartMotion, atMs: number): CartMotion {
  const { fix } = known
  return { ...known, still: fix === null ? null : { latE7: fix.latE7, longE7: fix.longE7, sinceMs: atMs } }
}

/** The same, but no time in it is later than `atMs`: a clock was ahead. The same object where none is. */
export function endedAt(known: CartMotion, atMs: number): CartMotion {
  const { fix, still, battery, rest } = known
  const newestMs = Math.max(fix?.atMs ?? 0, still?.sinceMs ?? 0, battery?.atMs ?? 0, rest?.atMs ?? 0)
  if (newestMs <= atMs) return known
  return {
    ...known,
    fix: fix && { ...fix, atMs: Math.min(fix.atMs, atMs) },
    still: still && { ...still, sinceMs: Math.min(still.sinceMs, atMs) },
    battery: battery && { ...battery, atMs: Math.min(battery.atMs, atMs) },
    rest: rest && { ...rest, atMs: Math.min(rest.atMs, atMs) },
  }
}

/** Whether its pack is low, by its voltage at rest or by what is left of it while it drives. */
export function isPackLow({ rest, lowReadings }: CartMotion, lowV: number | null): boolean {
  if (lowV === null) return false
  return (rest !== null && rest.voltageV < lowV) || lowReadings >= LOW_READINGS
}

function withFix(
  known: CartMotion,
  atMs: number,
  position: NonNullable<CartSample['position']>,
  { movingKmh }: MotionSettings,
): CartMotion {
  const { latE7, longE7 } = position
  const speedKmh = position.speedKmh ?? speedBetween(known.fix, { atMs, latE7, longE7 })
  const fix: CartFix = { atMs, latE7, longE7, speedKmh }
  const from = known.headingFrom
  const isFar = from !== null && distanceM(from, fix) >= HEADING_M
  const turned = from === null || isFar ? { latE7: fix.latE7, longE7: fix.longE7 } : from
  const hasMoved =
    known.still === null || (fix.speedKmh ?? 0) >= movingKmh || distanceM(known.still, fix) > REST_RADIUS_M
  // one by one: it is made for every device every second
  return {
    fix,
    headingFrom: turned,
    heading: isFar ? bearing(from, fix) : known.heading,
    still: hasMoved ? { latE7: fix.latE7, longE7: fix.longE7, sinceMs: fix.atMs } : known.still,
    battery: known.battery,
    rest: known.rest,
    lowReadings: known.lowReadings,
  }
}

function withVoltage(
  known: CartMotion,
  atMs: number,
  voltageV: number,
  { restAfterS, pack, movingKmh }: MotionSettings,
): CartMotion {
  const { still, fix } = known
  const isAtRest = still !== null && atMs - still.sinceMs >= restAfterS * 1000
  const drives = (fix?.speedKmh ?? 0) >= movingKmh
  const isFarTooLow = pack.lowV !== null && voltageV < pack.lowV * LOW_WHILE_DRIVING
  return {
    fix,
    headingFrom: known.headingFrom,
    heading: known.heading,
    still,
    battery: { atMs, voltageV },
    rest: isAtRest ? { atMs, voltageV } : known.rest,
    // what it is at rest is known for certain
    lowReadings: isAtRest || !isFarTooLow ? 0 : drives ? known.lowReadings + 1 : known.lowReadings,
  }
}

/** km/h between two fixes that are near in time; null without the first, or if they are not. */
export function speedBetween(from: (Place & { atMs: number }) | null, to: Place & { atMs: number }): number | null {
  if (from === null) return null
  const tookMs = to.atMs - from.atMs
  if (tookMs <= 0 || tookMs >= SPEED_WITHIN_MS) return null
  return (distanceM(from, to) / tookMs) * 3600
}

interface Place {
  latE7: number
  longE7: number
}

function distanceM(from: Place, to: Place): number {
  return haversineM(from.latE7, from.longE7, to.latE7, to.longE7)
}

/** Whole degrees from north at the start of the great circle. Source: Aviation Formulary, E. Williams. */
function bearing(from: Place, to: Place): number {
  const radians = (degreesE7: number) => (degreesE7 / 1e7) * (Math.PI / 180)
  const [lat, toLat] = [radians(from.latE7), radians(to.latE7)]
  const east = radians(to.longE7 - from.longE7)
  const y = Math.sin(east) * Math.cos(toLat)
  const x = Math.cos(lat) * Math.sin(toLat) - Math.sin(lat) * Math.cos(toLat) * Math.cos(east)
  return (Math.round((Math.atan2(y, x) * 180) / Math.PI) + 360) % 360
}
