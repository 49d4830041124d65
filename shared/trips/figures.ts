import { fromE7, fromMilli } from '#shared/geo.ts'
import type { Run } from './legs.ts'
import { countDropped, type Spikes } from './spikes.ts'
import type { Track } from './track.ts'

/** Degrees. */
export interface Place {
  lat: number
  long: number
}

export interface Trip {
  /** The first moving fix. */
  startMs: number
  /** The first stopped fix of the stop that follows, or the last fix before a gap or the end of the data. */
  endMs: number
  start: Place
  end: Place
  /** Along great circles from fix to fix, but not between two stopped ones and not over a discontinuity. */
  distanceM: number
  /** From start to end, pauses included. */
  durationS: number
  /** As reported, so it can be below the average speed. */
  maxSpeedKmh: number
  avgSpeedKmh: number
  /** Fixes from start to end, both included, without spikes. */
  pointCount: number
}

export interface Stop {
  startMs: number
  /** The first moving fix, where it was left. */
  endMs: number
  /** Where it began. */
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

/** Degrees, of one fix. */
export function placeOf({ latE7, longE7 }: Track, fix: number): Place {
  return { lat: fromE7(latE7[fix] ?? 0), long: fromE7(longE7[fix] ?? 0) }
}

/** Seconds between two fixes. */
export function durationS({ atMs }: Track, first: number, last: number): number {
  return ((atMs[last] ?? 0) - (atMs[first] ?? 0)) / 1000
}

/** km/h; 0 where no time passed. */
export function avgSpeedKmh(distanceM: number, elapsedS: number): number {
  return elapsedS === 0 ? 0 : (distanceM / elapsedS) * 3.6
}
