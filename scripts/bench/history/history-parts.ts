import type { GpsRecords } from '#shared/telemetry/records.ts'
import { DAY_MS } from '#shared/time.ts'
import { recordTrack, type TrackStyle } from './block-tracks.ts'
import type { FilledSample } from './fill.ts'

/** A simulated track that some devices share, each moved a little in place and time. */
const SHARED_TRACKS = 4
/** 1e-7 degree: some eleven metres. */
const PLACE_STEP_E7 = 1000
const TIME_STEP_MS = 37
const MAX_DELAY_MS = 4000
const WORKING_HOURS_S = 12 * 3600
const WORK_BEGINS_S = 2 * 3600
const ACTIVE_INTERVAL_MS = 5000

const always = { latenessMs: 0, speed: 'tenths', keeps: () => true } as const
const inUse: TrackStyle['keeps'] = (cart) => !cart.isLocked
const atWork: TrackStyle['keeps'] = (_, second) =>
  second > WORK_BEGINS_S && second <= WORK_BEGINS_S + WORKING_HOURS_S

/** A cart that reports every second, day and night. */
const SINGLE_STYLE: TrackStyle = { ...always, name: 'single', intervalS: 1 }

/** Carts that report every five seconds for twelve hours a day, half of them never quite in time. */
const FLEET_STYLES: readonly TrackStyle[] = [
  { ...always, name: 'fleet', intervalS: 5, keeps: atWork },
  { name: 'fleet, uneven', intervalS: 5, keeps: atWork, latenessMs: 200, speed: 'every-digit' },
]

const ACTIVE_STYLE: TrackStyle = { ...always, name: 'active', intervalS: 5, keeps: inUse }

/** From the first to the last record. */
export interface Period {
  fromMs: number
  toMs: number
}

/** Records of the single cart. */
export function recordSingle(days: number): GpsRecords {
  return recordTrack(SINGLE_STYLE, (days * DAY_MS) / 1000)
}

/** Its samples. */
export function* samplesOfSingle(deviceId: number, records: GpsRecords): Generator<FilledSample, void, void> {
  for (let i = 0; i < records.atMs.length; i++) yield sampleOf(deviceId, records, i)
}

/** Tracks of the fleet. */
export function recordFleet(days: number): GpsRecords[] {
  const count = (days * WORKING_HOURS_S) / 5
  return Array.from({ length: SHARED_TRACKS }, (_, i) => {
    const style = FLEET_STYLES[i % FLEET_STYLES.length] ?? SINGLE_STYLE
    return recordTrack(style, count, i)
  })
}

/** The samples of the fleet in the order of time, except those that are late by less than an interval. */
export function* samplesOfFleet(
  deviceIds: readonly number[],
  tracks: readonly GpsRecords[],
): Generator<FilledSample, void, void> {
  const count = tracks[0]?.atMs.length ?? 0
  for (let i = 0; i < count; i++) {
    for (const [n, deviceId] of deviceIds.entries()) {
      const track = tracks[n % tracks.length]
      if (track !== undefined) yield moved(sampleOf(deviceId, track, i), n)
    }
  }
}

/** Tracks for `count` fixes of any device that is on its way. */
export function recordActive(count: number): GpsRecords[] {
  return Array.from({ length: SHARED_TRACKS }, (_, i) => recordTrack(ACTIVE_STYLE, 2 * count, i))
}

/** What the devices say every five seconds in a period, each from somewhere else on its track, where it was at `sinceMs`. */
export function* samplesOfActive(
  deviceIds: readonly number[],
  tracks: readonly GpsRecords[],
  { fromMs, toMs, sinceMs }: Period & { sinceMs: number },
): Generator<FilledSample, void, void> {
  const first = Math.ceil(sinceMs / ACTIVE_INTERVAL_MS)
  const last = Math.floor(toMs / ACTIVE_INTERVAL_MS)
  for (let tick = Math.ceil(fromMs / ACTIVE_INTERVAL_MS); tick <= last; tick++) {
    for (const [n, deviceId] of deviceIds.entries()) {
      const track = tracks[n % tracks.length]
      if (track === undefined) continue
      // the tick decides the place, so that later samples continue the track
      const i = (tick - first + n * 97) % track.atMs.length
      const sample = { ...sampleOf(deviceId, track, i), atMs: tick * ACTIVE_INTERVAL_MS - MAX_DELAY_MS }
      yield moved(sample, n)
    }
  }
}

/** The time from the first to the last record of all tracks. */
export function periodOf(tracks: readonly GpsRecords[]): Period {
  return {
    fromMs: Math.min(...tracks.map(({ atMs }) => atMs[0] ?? 0)),
    toMs: Math.max(...tracks.map(({ atMs }) => atMs.at(-1) ?? 0)),
  }
}

function sampleOf(deviceId: number, records: GpsRecords, i: number): FilledSample {
  return {
    deviceId,
    atMs: records.atMs[i] ?? 0,
    latE7: records.latE7[i] ?? 0,
    longE7: records.longE7[i] ?? 0,
    speedMilliKmh: records.speedMilliKmh[i] ?? 0,
    voltageMv: Number.NaN,
  }
}

function moved(sample: FilledSample, n: number): FilledSample {
  return {
    ...sample,
    atMs: sample.atMs + ((n * TIME_STEP_MS) % MAX_DELAY_MS),
    latE7: sample.latE7 + n * PLACE_STEP_E7,
  }
}
