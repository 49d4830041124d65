import { fromE7, fromMilli } from '#shared/geo.ts'
import type { Run } from './legs.ts'
import { countDropped, type Spikes } from './spikes.ts'
import type { Track } from './track.ts'

/** Position in degrees. */
export interface Place {
  lat: number
  long: number
}

export interface Trip {
  /** Time of the first moving fix. */
  startMs: number
  /** Time of the first stopped fix of the following stop, or of the last fix before a gap or the end of the data. */
  endMs: number
  start: Place
  end: Place
  /** Along great circles from fix to fix, except between two stopped fixes and across a discontinuity. */
  distanceM: number
  /** From start to end, including pauses. */
  durationS: number
  /** Maximum reported speed, so it can be below the average speed. */
  maxSpeedKmh: number
  avgSpeedKmh: number
  /** Number of fixes from start to end, both inclusive, without spikes. */
  pointCount: number
}

export interface Stop {
  startMs: number
  /** Time of the first moving fix after the stop. */
  endMs: number
  /** Position of the first fix. */
  place: Place
  durationS: number
}

export function tripOf(track: Track, spikes: Spikes, run: Run): Trip {
  const { first, last, distanceM, maxSpeedMilliKmh } = run
  const elapsedS = durationS(track, first, last)
  return {
    startMs: track.atMs[first] ?? 0,
    endMs: track.atMs[last] ?? 0,
    start: placeOf(track, first),
    end: placeOf(track, last),
    distanceM,
    durationS: elapsedS,
    maxSpeedKmh: fromMilli(maxSpeedMilliKmh),
    avgSpeedKmh: avgSpeedKmh(distanceM, elapsedS),
    pointCount: last - first + 1 - countDropped(spikes, first, last),
  }
}

export function stopOf(track: Track, { first, last }: Pick<Run, 'first' | 'last'>): Stop {
  return {
    startMs: track.atMs[first] ?? 0,
    endMs: track.atMs[last] ?? 0,
    place: placeOf(track, first),
    durationS: durationS(track, first, last),
  }
}

export function placeOf({ latE7, longE7 }: Track, fix: number): Place {
  return { lat: fromE7(latE7[fix] ?? 0), long: fromE7(longE7[fix] ?? 0) }
}

export function durationS({ atMs }: Track, first: number, last: number): number {
  return ((atMs[last] ?? 0) - (atMs[first] ?? 0)) / 1000
}

/** Average speed in km/h; 0 if no time passed. */
export function avgSpeedKmh(distanceM: number, elapsedS: number): number {
  return elapsedS === 0 ? 0 : (distanceM / elapsedS) * 3.6
}
