import { toE7, toMilli } from '#shared/geo.ts'
import { type GpsRecords, NO_SPEED } from '#shared/telemetry/records.ts'

/**
 * The fixes of one device as they are stored: strictly ascending in time, positions in range and not 0,0.
 * Arrays may be longer than `count`, so that one set of them serves many tracks.
 */
export interface Track extends GpsRecords {
  count: number
  /** Records the track was made of, those that were no fixes included. */
  recordCount: number
}

/** A GPS record as it may come: nothing about it is certain but its types. */
export interface GpsRecord {
  /** Milliseconds since 1970; NaN where the time cannot be read. */
  atMs: number
  /** Degrees. */
  lat: number
  long: number
  speedKmh: number | null
}

/** From when to when, both inclusive, in milliseconds since 1970. */
export interface TrackRange {
  fromMs: number
  toMs: number
}

/** All a date can be. Source: ECMA-262, 21.4.1.1. */
const ALWAYS: TrackRange = { fromMs: -8.64e15, toMs: 8.64e15 }

/**
 * Makes a track of records in the order they were received: sorted by time, the first received of equal times, without
 * records that have no readable time or position. 0,0 is what a receiver without a fix reports.
 */
export function loadTrack(records: readonly GpsRecord[], { fromMs, toMs } = ALWAYS): Track {
  const inRange = records.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs)
  const fixes = inRange
    .filter(hasPosition)
    .sort((a, b) => a.atMs - b.atMs)
    .filter(({ atMs }, i, sorted) => atMs !== sorted[i - 1]?.atMs)
  return {
    count: fixes.length,
    recordCount: inRange.length,
    atMs: Float64Array.from(fixes, ({ atMs }) => atMs),
    latE7: Int32Array.from(fixes, ({ lat }) => toE7(lat)),
    longE7: Int32Array.from(fixes, ({ long }) => toE7(long)),
    speedMilliKmh: Int32Array.from(fixes, storedSpeed),
  }
}

/**
 * Makes a track of the first `count` records as they are stored, where they are: what is no fix is moved over. A record
 * at exactly 0,0 was stored as the device sent it, and only here does it matter.
 */
export function trackOf(columns: GpsRecords, count: number): Track {
  const { atMs, latE7, longE7, speedMilliKmh } = columns
  let kept = 0
  for (let i = 0; i < count; i++) {
    if (latE7[i] === 0 && longE7[i] === 0) continue
    if (kept !== i) {
      atMs[kept] = atMs[i] ?? 0
      latE7[kept] = latE7[i] ?? 0
      longE7[kept] = longE7[i] ?? 0
      speedMilliKmh[kept] = speedMilliKmh[i] ?? NO_SPEED
    }
    kept++
  }
  return { count: kept, recordCount: count, atMs, latE7, longE7, speedMilliKmh }
}

function hasPosition({ lat, long }: GpsRecord): boolean {
  // NaN and infinity fail the comparisons
  return Math.abs(lat) <= 90 && Math.abs(long) <= 180 && (lat !== 0 || long !== 0)
}

const FASTEST_MILLI_KMH = 2 ** 31 - 1

function storedSpeed({ speedKmh }: GpsRecord): number {
  if (speedKmh === null || !Number.isFinite(speedKmh) || speedKmh < 0) return NO_SPEED
  return Math.min(toMilli(speedKmh), FASTEST_MILLI_KMH)
}
