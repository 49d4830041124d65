import { fromMilli } from '#shared/geo.ts'
import { NO_SPEED } from '#shared/telemetry/records.ts'
import { GPS_JITTER_M, longestStepMs, SPIKE_FIXES_MAX, slowestMoveMilliKmh, type TripConfig } from './config.ts'
import { EarthDistance } from './earth-distance.ts'
import { durationS, type Place, placeOf, type Trip, tripOf } from './figures.ts'
import { TripFinder } from './finder.ts'
import { type LastFix, walkLegs } from './legs.ts'
import { findSpikes, type Spikes } from './spikes.ts'
import type { Track } from './track.ts'

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

/** A track with what was found in it. */
interface Walk {
  track: Track
  spikes: Spikes
  finder: TripFinder
  lastFix: LastFix | undefined
}

/**
 * How far back is far enough for most carts: on a course a trip is minutes long, and then comes a stop. In seconds, for
 * whoever has to read what he looks back at.
 */
export const RECENT_SECONDS = 1800

/**
 * Which fixes are spikes does not depend on where a track begins from here on: where it is back is within the first.
 */
const SETTLED_FIXES = 2 * SPIKE_FIXES_MAX + 2
/** Two fixes further apart than this cannot both be jitter about the same place. */
const BEYOND_JITTER_M = 2 * GPS_JITTER_M + 1

/**
 * The trip a device is on, or undefined. The track holds its fixes up to `nowMs` and from as far back as shall be
 * looked. The minima of a trip do not apply: a cart that left ten seconds ago is in motion. One that stands is on a
 * trip for as long as the pause, judged by the clock and not by its last fix, is no stop.
 */
export function activeTrip(track: Track, config: TripConfig, query: ActiveTripQuery): ActiveTrip | undefined {
  return underWay(walk(track, config, query), config, query)
}

/**
 * What `activeTrip` says of any track that ends with this one and begins earlier; undefined when that may depend on
 * what is before. A drive that is sure to be one, whatever was before it, and then a rest that ends it: from there on
 * every such track is parted into the same rests and moves.
 */
export function recentActiveTrip(
  track: Track,
  config: TripConfig,
  query: ActiveTripQuery,
): { active: ActiveTrip | undefined } | undefined {
  const walked = walk(track, config, query)
  const sureDrive = firstSureDrive(walked, config)
  if (walked.lastFix === undefined || sureDrive === undefined) return undefined
  const drive = walked.finder.openDrive(walked.lastFix.index)
  // nothing but a confirmed rest ends a drive
  if (drive !== undefined && drive.first <= sureDrive) return undefined
  return { active: underWay(walked, config, query) }
}

function walk(track: Track, config: TripConfig, { foundMax }: ActiveTripQuery): Walk {
  const spikes = findSpikes(track, config)
  const finder = new TripFinder(track, config, foundMax)
  return { track, spikes, finder, lastFix: walkLegs(track, spikes, config, finder) }
}

function underWay(
  { track, spikes, finder, lastFix }: Walk,
  config: TripConfig,
  { nowMs, maxAgeSeconds }: ActiveTripQuery,
): ActiveTrip | undefined {
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

/**
 * The first fix into which a device is driving, and not in jitter, whatever was before the track: it reported to be
 * moving all the way from a fix beyond the jitter of any place near this one. Undefined where spikes or speeds that
 * were not reported could make what was before matter.
 */
function firstSureDrive({ track, spikes }: Walk, config: TripConfig): number | undefined {
  const { atMs, latE7, longE7, speedMilliKmh, count } = track
  if (spikes.dropped.length + spikes.discontinuities.length > 0) return undefined
  for (let fix = 0; fix < Math.min(SETTLED_FIXES, count); fix++) {
    if ((speedMilliKmh[fix] ?? NO_SPEED) < 0) return undefined
  }
  const slowest = slowestMoveMilliKmh(config)
  const longestMs = longestStepMs(config)
  const earth = new EarthDistance()
  let from = SETTLED_FIXES
  for (let fix = SETTLED_FIXES; fix + 1 < count; fix++) {
    const next = fix + 1
    const isDriven = (speedMilliKmh[fix] ?? NO_SPEED) >= slowest && (atMs[next] ?? 0) - (atMs[fix] ?? 0) <= longestMs
    if (!isDriven) {
      from = next
      continue
    }
    const apartM = earth.metres(latE7[from] ?? 0, longE7[from] ?? 0, latE7[next] ?? 0, longE7[next] ?? 0)
    if (apartM > BEYOND_JITTER_M) return next
  }
  return undefined
}
