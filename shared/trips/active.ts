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
  /** Speed of the latest fix that is not a spike; time, age and position refer to the same fix. */
  speedKmh: number
  lastPositionMs: number
  lastPositionAgeS: number
  place: Place
  /** From the first move after the last stop, or from the start of the track, to the latest fix. */
  trip: Trip
}

export interface ActiveTripQuery {
  nowMs: number
  /** Maximum age of the latest fix of an active device, inclusive. */
  maxAgeSeconds: number
  /** Throws `TooManyTripsError` if the track contains more trips and stops before it. */
  foundMax?: number
}

/** Track with its detected parts. */
interface Walk {
  track: Track
  spikes: Spikes
  finder: TripFinder
  lastFix: LastFix | undefined
}

/**
 * Lookback in seconds that suffices for most carts, whose trips last minutes and end with a stop; limits the reading.
 */
export const RECENT_SECONDS = 1800

/** Number of fixes after which spikes no longer depend on a track's start: the receiver recovers within the first. */
const SETTLED_FIXES = 2 * SPIKE_FIXES_MAX + 2
/** Distance beyond which two fixes cannot both be jitter around the same place. */
const BEYOND_JITTER_M = 2 * GPS_JITTER_M + 1

/**
 * Returns the active trip of a device, or undefined. The track must hold its fixes up to `nowMs`, as far back as the
 * search should reach. The minima of a trip do not apply: a cart that left ten seconds ago is moving. A standing device
 * stays on a trip while its pause, measured by the clock and not by its last fix, is not a stop.
 */
export function activeTrip(track: Track, config: TripConfig, query: ActiveTripQuery): ActiveTrip | undefined {
  return underWay(walk(track, config, query), config, query)
}

/**
 * Returns the result of `activeTrip` for any track that begins earlier and ends with this one; undefined if it may
 * depend on earlier fixes. Searches for a drive that is certain regardless of earlier fixes, followed by a rest that
 * ends it: from there on every such track is divided into the same rests and moves.
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
  // only a confirmed rest ends a drive
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
 * Returns the first fix at which the device certainly drives and does not jitter, regardless of earlier fixes: it
 * reported movement continuously from a fix beyond the jitter of any place near this one. Undefined if spikes or
 * unreported speeds could make earlier fixes relevant.
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
