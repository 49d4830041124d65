import { fromE7, fromMilli, toE7, toMilli } from '#shared/geo.ts'
import { isNewer } from '#shared/time.ts'
import { MAX_OTHER_ATTRIBUTES, type Sample, type Scalar } from './telemetry.ts'

/** Newest record of a stream, as stored. */
export interface LatestGps {
  atMs: number
  lat: number
  long: number
  speedKmh: number | null
}

export interface LatestBattery {
  atMs: number
  voltageV: number
}

/**
 * Last reported state of a device: per key the value with the newest event time (`atMs`). Kept in memory, stored as
 * JSON with every transaction that changes it.
 */
export interface LatestState {
  values: Record<string, Scalar>
  atMs: Record<string, number>
  /** Last `st` message, without `online`. */
  status: Record<string, Scalar> | null
  /** Numbers of values dropped from the device's messages, by reason. */
  dropped: Record<string, number>
  /** Readings and events stored with times that could not be checked, as the clock was in doubt; absent if none. */
  unverified?: UnverifiedTimes
  /** True if it requested the time from the gateway; absent if it never did. */
  asksForTime?: boolean
  /** Versions of its configuration and of its group's zones that it acknowledged. */
  applied: { [What in VersionedTopic]?: AppliedVersion }
}

/** Number of a device's unchecked times, the earliest and the latest of them. */
export interface UnverifiedTimes {
  count: number
  fromMs: number
  toMs: number
}

/** Versioned content that is published to a device, by the last level of its topic. */
export type VersionedTopic = 'cfg' | 'sz'

export interface AppliedVersion {
  version: number
  atMs: number
}

export function emptyState(): LatestState {
  return { values: {}, atMs: {}, status: null, dropped: {}, applied: {} }
}

/** Copies a state, so that the copy can be discarded if its transaction fails. */
export function copyState(state: LatestState): LatestState {
  return {
    values: { ...state.values },
    atMs: { ...state.atMs },
    status: state.status,
    dropped: { ...state.dropped },
    ...(state.unverified === undefined ? {} : { unverified: state.unverified }),
    ...(state.asksForTime === undefined ? {} : { asksForTime: state.asksForTime }),
    applied: { ...state.applied },
  }
}

const RECORD_KEYS = new Set(['lat', 'long', 'speed', 'battery_voltage', 'lock_status'])

/**
 * Advances the state by one reading. Returns the values that changed it, or null if all are older than, or as old as,
 * the known ones: late data goes to the history and never sets an attribute back; of equal times the first wins. A
 * known time after `latestMs` came from a wrong clock, so every plausible value counts as newer.
 */
export function mergeValues(
  state: LatestState,
  atMs: number,
  values: Record<string, Scalar>,
  latestMs = Number.POSITIVE_INFINITY,
): Record<string, Scalar> | null {
  let moved: Record<string, Scalar> | null = null
  for (const key in values) {
    const value = values[key]
    if (value === undefined) continue
    // names that every object inherits are ordinary names here
    const knownAtMs = Object.hasOwn(state.atMs, key) ? state.atMs[key] : undefined
    if (knownAtMs === undefined ? !hasRoomFor(state, key) : !isNewer(atMs, knownAtMs, latestMs)) continue
    state.values[key] = value
    state.atMs[key] = atMs
    moved ??= {}
    moved[key] = value
  }
  return moved
}

/** Returns the newest event time in the state; 0 if it is empty. */
export function newestEventMs(state: LatestState): number {
  let newestMs = 0
  for (const key in state.atMs) newestMs = Math.max(newestMs, state.atMs[key] ?? 0)
  return newestMs
}

// a device that sends a new name with every message must not fill memory
function hasRoomFor(state: LatestState, key: string): boolean {
  return RECORD_KEYS.has(key) || Object.keys(state.values).length < MAX_OTHER_ATTRIBUTES + RECORD_KEYS.size
}

/** Returns the lock state of a lock event in the form that the device itself reports: 0/1 or false/true. */
export function lockStatusValue(state: LatestState, isLocked: boolean): Scalar {
  return typeof state.values.lock_status === 'number' ? Number(isLocked) : isLocked
}

export function countDrop(state: LatestState, reason: string, count: number): void {
  state.dropped[reason] = (state.dropped[reason] ?? 0) + count
}

/** Records times that are stored as reported because they could not be checked. */
export function markUnverified(state: LatestState, times: UnverifiedTimes): void {
  const { count, fromMs, toMs } = state.unverified ?? { ...times, count: 0 }
  state.unverified = {
    count: count + times.count,
    fromMs: Math.min(fromMs, times.fromMs),
    toMs: Math.max(toMs, times.toMs),
  }
}

/** Scaled integers of a stored GPS record; `speedMilliKmh` is null if the fix had no speed. */
export interface StoredGps {
  atMs: number
  latE7: number
  longE7: number
  speedMilliKmh: number | null
}

export function gpsFromStored(row: StoredGps): LatestGps {
  return {
    atMs: row.atMs,
    lat: fromE7(row.latE7),
    long: fromE7(row.longE7),
    speedKmh: row.speedMilliKmh === null ? null : fromMilli(row.speedMilliKmh),
  }
}

/** Writes one row of the writer's packed batch; NaN stands for absent. */
export function packSample(into: Float64Array, at: number, deviceId: number, sample: Sample): void {
  into[at] = deviceId
  into[at + 1] = sample.atMs
  into[at + 2] = toE7(sample.lat)
  into[at + 3] = toE7(sample.long)
  into[at + 4] = toMilli(sample.speedKmh)
  into[at + 5] = toMilli(sample.voltageV)
}
