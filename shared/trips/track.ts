import { toE7, toMilli } from '#shared/geo.ts'
import { type GpsRecords, NO_SPEED } from '#shared/telemetry/records.ts'

/**
 * Fixes of one device: strictly ascending times, positions in range and not 0,0. Arrays may exceed `count` for reuse.
 */
export interface Track extends GpsRecords {
  count: number
  /** Number of records that the track was made of, including those without a fix. */
  recordCount: number
}

/** Received GPS record: nothing but its types is certain. */
export interface GpsRecord {
  /** Milliseconds since 1970; NaN if the time is unreadable. */
  atMs: number
  /** Degrees. */
  lat: number
  long: number
  speedKmh: number | null
}

/** Time range with inclusive bounds, in milliseconds since 1970. */
export interface TrackRange {
  fromMs: number
  toMs: number
}

/** Range of a `Date`. Source: ECMA-262, 21.4.1.1. */
const ALWAYS: TrackRange = { fromMs: -8.64e15, toMs: 8.64e15 }

/**
 * Creates a track from records in the order of receipt: sorted by time, the first one of equal times, without records
 * that have no readable time or position. 0,0 is the position that a receiver without a fix reports.
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
 * Creates a track in place from the first `count` stored records; records without a fix are overwritten. A record at
 * exactly 0,0 is stored as sent, and excluded only here.
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
  // NaN and infinity fail these comparisons
  return Math.abs(lat) <= 90 && Math.abs(long) <= 180 && (lat !== 0 || long !== 0)
}

const FASTEST_MILLI_KMH = 2 ** 31 - 1

function storedSpeed({ speedKmh }: GpsRecord): number {
  if (speedKmh === null || !Number.isFinite(speedKmh) || speedKmh < 0) return NO_SPEED
  return Math.min(toMilli(speedKmh), FASTEST_MILLI_KMH)
}
