import type { GpsRecords } from '#shared/telemetry/records.ts'
import { DAY_MS } from '#shared/time.ts'
import { recordTrack, type TrackStyle } from './block-tracks.ts'
import type { FilledSample } from './fill.ts'

/** Number of simulated tracks, each shared by some devices with a small shift in space and time. */
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
const atWork: TrackStyle['keeps'] = (_, second) => second > WORK_BEGINS_S && second <= WORK_BEGINS_S + WORKING_HOURS_S

/** A cart that reports every second, day and night. */
const SINGLE_STYLE: TrackStyle = { ...always, name: 'single', intervalS: 1 }

/** Carts that report every five seconds for twelve hours a day, half of them never quite in time. */
const FLEET_STYLES: readonly TrackStyle[] = [
  { ...always, name: 'fleet', intervalS: 5, keeps: atWork },
  { name: 'fleet, uneven', intervalS: 5, keeps: atWork, latenessMs: 200, speed: 'every-digit' },
]

const ACTIVE_STYLE: TrackStyle = { ...always, name: 'active', intervalS: 5, keeps: inUse }

/** Time from the first to the last record. */
export interface Period {
  fromMs: number
  toMs: number
}

export function recordSingle(days: number): GpsRecords {
  return recordTrack(SINGLE_STYLE, (days * DAY_MS) / 1000)
}

export function recordFleet(days: number): GpsRecords[] {
  return recordShared(FLEET_STYLES, (days * WORKING_HOURS_S) / 5)
}

/** Tracks for `count` fixes of any device that is on its way. */
export function recordActive(count: number): GpsRecords[] {
  return recordShared([ACTIVE_STYLE], 2 * count)
}

function recordShared(styles: readonly TrackStyle[], count: number): GpsRecords[] {
  return Array.from({ length: SHARED_TRACKS }, (_, i) =>
    recordTrack(styles[i % styles.length] ?? SINGLE_STYLE, count, i),
  )
}

/** Samples of whole tracks in the order of time, except those that are late by less than an interval. */
export function* samplesOfTracks(
  deviceIds: readonly number[],
  tracks: readonly GpsRecords[],
): Generator<FilledSample, void, void> {
  const count = tracks[0]?.atMs.length ?? 0
  for (let i = 0; i < count; i++) {
    for (const [n, deviceId] of deviceIds.entries()) yield sampleOf(deviceId, n, tracks, i)
  }
}

/** Samples every five seconds in a period. Each device starts elsewhere on its track, where it was at `sinceMs`. */
export function* samplesOfActive(
  deviceIds: readonly number[],
  tracks: readonly GpsRecords[],
  { fromMs, toMs, sinceMs }: Period & { sinceMs: number },
): Generator<FilledSample, void, void> {
  const first = Math.ceil(sinceMs / ACTIVE_INTERVAL_MS)
  const last = Math.floor(toMs / ACTIVE_INTERVAL_MS)
  for (let tick = Math.ceil(fromMs / ACTIVE_INTERVAL_MS); tick <= last; tick++) {
    const atMs = tick * ACTIVE_INTERVAL_MS - MAX_DELAY_MS
    for (const [n, deviceId] of deviceIds.entries()) {
      // the tick decides the position, so that later samples continue the track
      yield sampleOf(deviceId, n, tracks, tick - first + n * 97, atMs)
    }
  }
}

export function periodOf(tracks: readonly GpsRecords[]): Period {
  return {
    fromMs: Math.min(...tracks.map(({ atMs }) => atMs[0] ?? 0)),
    toMs: Math.max(...tracks.map(({ atMs }) => atMs.at(-1) ?? 0)),
  }
}

/** Sample of the `n`th device at a position of its repeating track; `atMs` overrides the time of the track. */
function sampleOf(
  deviceId: number,
  n: number,
  tracks: readonly GpsRecords[],
  place: number,
  atMs?: number,
): FilledSample {
  const track = tracks[n % tracks.length]
  if (track === undefined) throw new Error('no track')
  const i = place % track.atMs.length
  return {
    deviceId,
    atMs: (atMs ?? track.atMs[i] ?? 0) + ((n * TIME_STEP_MS) % MAX_DELAY_MS),
    latE7: (track.latE7[i] ?? 0) + n * PLACE_STEP_E7,
    longE7: track.longE7[i] ?? 0,
    speedMilliKmh: track.speedMilliKmh[i] ?? 0,
    voltageMv: Number.NaN,
  }
}
