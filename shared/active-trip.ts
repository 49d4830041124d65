import { fromMilli } from './geo.ts'
import type { TripConfig } from './trip-config.ts'
import { durationS, type Place, placeOf, type Trip, tripOf } from './trip-figures.ts'
import { TripFinder } from './trip-finder.ts'
import { walkLegs } from './trip-legs.ts'
import { findSpikes } from './trip-spikes.ts'
import type { Track } from './trip-track.ts'

export interface ActiveTrip {
  /** The latest fix that is no spike: its speed, time, age and place. */
  speedKmh: number
  lastPositionMs: number
  lastPositionAgeS: number
  place: Place
  /** From the first move after the last stop, or from where the track begins, to the latest fix. */
  trip: Trip
}

export interface ActiveTripQuery {
  nowMs: number
  /** A device whose latest fix is older is not active; exactly this old is. */
  maxAgeSeconds: number
  /** Throws `TooManyTripsError` when the track has more trips and stops before. */
  foundMax?: number
}

/**
 * The trip a device is on, or undefined. The track holds its fixes up to `nowMs` and from as far back as shall be looked.
 * The minima of a trip do not apply: a cart that left ten seconds ago is in motion. One that stands is on a trip for as
 * long as the pause, judged by the clock and not by its last fix, is no stop.
 */
export function activeTrip(
  track: Track,
  config: TripConfig,
  { nowMs, maxAgeSeconds, foundMax }: ActiveTripQuery,
): ActiveTrip | undefined {
  const spikes = findSpikes(track, config)
  const finder = new TripFinder(track, config, foundMax)
  const lastFix = walkLegs(track, spikes, config, finder)
  if (lastFix === undefined) return undefined
  const { index, isMoving, speedMilliKmh } = lastFix
  const lastPositionMs = track.atMs[index] ?? 0
  const lastPositionAgeS = (nowMs - lastPositionMs) / 1000
  if (lastPositionAgeS > maxAgeSeconds) return undefined
  const drive = finder.openDrive(index)
  const standingS = lastPositionAgeS + durationS(track, finder.restFirst(index), index)
  if (!isMoving && (drive === undefined || standingS >= config.minimalParkingDuration)) return undefined
  const alone = { first: index, last: index, distanceM: 0, maxSpeedMilliKmh: speedMilliKmh }
  return {
    speedKmh: fromMilli(speedMilliKmh),
    lastPositionMs,
    lastPositionAgeS,
    place: placeOf(track, index),
    trip: tripOf(track, spikes, drive ?? alone),
  }
}
