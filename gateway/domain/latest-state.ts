import { fromE7, fromMilli, toE7, toMilli } from '#shared/geo.ts'
import { isNewer } from '#shared/time.ts'
import { MAX_OTHER_ATTRIBUTES, type Sample, type Scalar } from './telemetry.ts'

/** The newest record of a stream, as it is stored. */
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
 * What a device last reported: per key the value with the newest event time (`atMs`).
 * Kept in memory, stored as JSON with every transaction that moves it.
 */
export interface LatestState {
  values: Record<string, Scalar>
  atMs: Record<string, number>
  /** The last `st` message, without `online`. */
  status: Record<string, Scalar> | null
  /** What was not taken from the device's messages, by reason. */
  dropped: Record<string, number>
  /** Readings and events stored at times that nobody could judge, because the clock was in doubt; absent if none. */
  unverified?: UnverifiedTimes
  /** It has asked the gateway for the time; absent if it never did. */
  asksForTime?: boolean
  /** The versions it said it has applied, of its configuration and of the zones of its group. */
  applied: { [What in VersionedTopic]?: AppliedVersion }
}

/** How many times of a device nobody could judge, the earliest and the latest of them. */
export interface UnverifiedTimes {
  count: number
  fromMs: number
  toMs: number
}

/** What is published to a device in versions, by the last level of its topic. */
export type VersionedTopic = 'cfg' | 'sz'

export interface AppliedVersion {
  version: number
  /** When it said so. */
  atMs: number
}

export function emptyState(): LatestState {
  return { values: {}, atMs: {}, status: null, dropped: {}, applied: {} }
}

/** A copy that can be changed and thrown away if its transaction fails. */
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
 * Moves the state on by one reading. Returns the values that moved it, or null when all of it is older than, or as old
 * as, what is known: late data goes to history and never moves an attribute back; of equal times the first wins.
 * A known time after `latestMs` cannot be: a wrong clock gave it, and whatever can be believed now is newer.
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
    // names every object inherits are names like others
    const knownAtMs = Object.hasOwn(state.atMs, key) ? state.atMs[key] : undefined
    if (knownAtMs === undefined ? !hasRoomFor(state, key) : !isNewer(atMs, knownAtMs, latestMs)) continue
    state.values[key] = value
    state.atMs[key] = atMs
    moved ??= {}
    moved[key] = value
  }
  return moved
}

/** The newest event time of anything in the state; 0 when it is empty. */
export function newestEventMs(state: LatestState): number {
  let newestMs = 0
  for (const key in state.atMs) newestMs = Math.max(newestMs, state.atMs[key] ?? 0)
  return newestMs
}

// A device that makes up a new name with every message must not fill memory.
function hasRoomFor(state: LatestState, key: string): boolean {
  return RECORD_KEYS.has(key) || Object.keys(state.values).length < MAX_OTHER_ATTRIBUTES + RECORD_KEYS.size
}

/** The lock state a lock event means, in the form the device itself reports it: 0/1 or false/true. */
export function lockStatusValue(state: LatestState, isLocked: boolean): Scalar {
  return typeof state.values.lock_status === 'number' ? Number(isLocked) : isLocked
}

export function countDrop(state: LatestState, reason: string, count: number): void {
  state.dropped[reason] = (state.dropped[reason] ?? 0) + count
}

/** Marks times that are stored as the device said them and could not be judged. */
export function markUnverified(state: LatestState, times: UnverifiedTimes): void {
  const { count, fromMs, toMs } = state.unverified ?? { ...times, count: 0 }
  state.unverified = {
    count: count + times.count,
    fromMs: Math.min(fromMs, times.fromMs),
    toMs: Math.max(toMs, times.toMs),
  }
}

/** The scaled integers a GPS record is stored as; `speedMilliKmh` is null when the fix had none. */
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

/** One row of the writer's packed batch; NaN stands for absent. */
export function packSample(into: Float64Array, at: number, deviceId: number, sample: Sample): void {
  into[at] = deviceId
  into[at + 1] = sample.atMs
  into[at + 2] = toE7(sample.lat)
  into[at + 3] = toE7(sample.long)
  into[at + 4] = toMilli(sample.speedKmh)
  into[at + 5] = toMilli(sample.voltageV)
}
