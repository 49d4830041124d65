import type { SiteSettings } from '#shared/site/settings.ts'
import { isNewer } from '#shared/time.ts'
import { haversineM } from '#shared/trips/earth-distance.ts'

/** Minimum distance for a heading; below it GPS noise decides the direction. */
const HEADING_M = 5
/** Radius within which the positions of a receiver at rest scatter. */
export const REST_RADIUS_M = 30
/** Maximum interval between two fixes for a computed speed. */
export const SPEED_WITHIN_MS = 60_000
/** Share of the threshold at rest below which a driving cart counts as low: its voltage drops under load. */
const LOW_WHILE_DRIVING = 0.9
/** Readings required in a row, because a single one may be wrong. */
const LOW_READINGS = 2

/** Position as stored; degrees in units of 1e-7. */
export interface CartFix {
  atMs: number
  latE7: number
  longE7: number
  /** Speed reported by the device; null if it reported none. */
  speedKmh: number | null
}

/** Motion and battery state of a cart from the fixes and voltages of one device: JSON, advanced by samples in order. */
export interface CartMotion {
  /** Newest fix; its speed is computed if the device reported none. */
  fix: CartFix | null
  /** Fix from which the heading is computed. */
  headingFrom: { latE7: number; longE7: number } | null
  heading: number | null
  /** Position at which the cart stands still, and the event time since which it does. */
  still: { latE7: number; longE7: number; sinceMs: number } | null
  battery: { atMs: number; voltageV: number } | null
  /** Newest voltage at rest. */
  rest: { atMs: number; voltageV: number } | null
  /** Consecutive readings while driving that were far too low. */
  lowReadings: number
}

/** State of a device without any sample. */
export const NO_MOTION: CartMotion = {
  fix: null,
  headingFrom: null,
  heading: null,
  still: null,
  battery: null,
  rest: null,
  lowReadings: 0,
}

/** Sample of a device; fields that it did not contain are null. */
export interface CartSample {
  atMs: number
  position: { latE7: number; longE7: number; speedKmh: number | null } | null
  voltageV: number | null
}

export type MotionSettings = Pick<SiteSettings, 'restAfterS' | 'pack'> & { movingKmh: number }

/** Advances by one sample, if it is newer than the state. Known times after `latestMs` come from a wrong clock. */
export function advanceMotion(
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

/** Restarts stillness and rest at `atMs`: after a clock change their duration is unknown. */
export function restless(known: CartMotion, atMs: number): CartMotion {
  const { fix } = known
  return { ...known, still: fix === null ? null : { latE7: fix.latE7, longE7: fix.longE7, sinceMs: atMs } }
}

/** Limits all times to `atMs`, after a clock was ahead. Returns the same object if none is later. */
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

/** True if the battery is low by its voltage at rest, or by the voltage that is left while it drives. */
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
  // no spread: this runs for every device every second
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
    // the voltage at rest is reliable and replaces the count
    lowReadings: isAtRest || !isFarTooLow ? 0 : drives ? known.lowReadings + 1 : known.lowReadings,
  }
}

/** Speed in km/h between two fixes that are close in time; null without the first, or if they are not. */
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

/** Initial great-circle bearing in whole degrees from north. Source: Aviation Formulary, E. Williams. */
function bearing(from: Place, to: Place): number {
  const radians = (degreesE7: number) => (degreesE7 / 1e7) * (Math.PI / 180)
  const [lat, toLat] = [radians(from.latE7), radians(to.latE7)]
  const east = radians(to.longE7 - from.longE7)
  const y = Math.sin(east) * Math.cos(toLat)
  const x = Math.cos(lat) * Math.sin(toLat) - Math.sin(lat) * Math.cos(toLat) * Math.cos(east)
  return (Math.round((Math.atan2(y, x) * 180) / Math.PI) + 360) % 360
}
