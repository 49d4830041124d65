import type { CartState } from '#scripts/commands/simulate/course/cart.ts'
import { GpsNoise } from '#scripts/commands/simulate/course/gps-noise.ts'
import { dayStartMs } from '#scripts/commands/simulate/course/model-day.ts'
import { toLatLong } from '#scripts/commands/simulate/course/plane.ts'
import { createCart, planFleet } from '#scripts/commands/simulate/fleet-plan.ts'
import { reportedKmh } from '#scripts/commands/simulate/sample.ts'
import { SIMULATED_CENTER } from '#scripts/rig/course.ts'
import { toE7, toMilli } from '#shared/geo.ts'
import { createRandom, type Random } from '#shared/random.ts'
import { GPS, type GpsRecords, NO_SPEED } from '#shared/telemetry/records.ts'
import { DAY_MS } from '#shared/time.ts'
import type { FilledSample } from './fill.ts'

/** 1e-7 degree: devices share a few tracks, each some eleven metres from the last one, and a little later. */
export const PLACE_STEP_E7 = 1000
const TIME_STEP_MS = 37
const MAX_DELAY_MS = 4000
const WORKING_HOURS_S = 12 * 3600
const WORK_BEGINS_S = 2 * 3600
const INTERVAL_S = 5
const INTERVAL_MS = INTERVAL_S * 1000
const DAY = 20_000
const DAY_S = 86_400
const SPEED_ERROR_KMH = 0.2

/** Reporting style of a device during the days of its cart. */
export interface TrackStyle {
  readonly name: string
  readonly intervalS: number
  /** True if the device reports; `second` is the time of the model day, which begins at 04:00. */
  readonly keeps: (cart: CartState, second: number) => boolean
  /** Maximum delay of a report, in ms. */
  readonly latenessMs: number
  /** Receiver that reports 0 at rest and tenths of km/h otherwise, that reports every digit, or no speed. */
  readonly speed: 'tenths' | 'every-digit' | 'none'
}

/** A cart that reports every second, day and night. */
const SINGLE: TrackStyle = { name: 'single', intervalS: 1, latenessMs: 0, speed: 'tenths', keeps: () => true }

/** Carts that report every five seconds for twelve hours a day; half of them are `UNEVEN`, never quite in time. */
export const FLEET: TrackStyle = {
  ...SINGLE,
  name: 'fleet',
  intervalS: INTERVAL_S,
  keeps: (_, second) => second > WORK_BEGINS_S && second <= WORK_BEGINS_S + WORKING_HOURS_S,
}
const UNEVEN: TrackStyle = { ...FLEET, name: 'fleet, uneven', latenessMs: 200, speed: 'every-digit' }

/** Carts on their way. */
export const IN_USE: TrackStyle = { ...FLEET, name: 'active', keeps: (cart) => !cart.isLocked }

export function recordSingle(days: number): GpsRecords {
  return recordTrack(SINGLE, (days * DAY_MS) / 1000)
}

export function recordFleet(days: number): GpsRecords[] {
  const count = (days * WORKING_HOURS_S) / INTERVAL_S
  return [FLEET, UNEVEN, FLEET, UNEVEN].map((style, i) => recordTrack(style, count, i))
}

/** Tracks of devices that are on their way, long enough for `count` fixes of each. */
export function recordActive(count: number): GpsRecords[] {
  return [0, 1, 2, 3].map((cart) => recordTrack(IN_USE, 2 * count, cart))
}

/** Returns the first `count` positions of a simulated cart in that style; the same in every run. */
export function recordTrack(style: TrackStyle, count: number, index = 2): GpsRecords {
  const plan = planFleet({ seed: 1, carts: 12, center: SIMULATED_CENTER, prefix: 'bench' })
  const cart = createCart(plan, index)
  const random = createRandom('blocks', style.name)
  const noise = new GpsNoise(random)
  const records = GPS.allocate(count)
  let recorded = 0
  for (let day = DAY; recorded < count; day++) {
    cart.startDay(day)
    for (let second = 1; second <= DAY_S && recorded < count; second++) {
      cart.step()
      if (second % style.intervalS !== 0 || !style.keeps(cart, second)) continue
      const atMs = dayStartMs(day, plan.center) + second * 1000 + random.integer(0, style.latenessMs)
      const { lat, long } = toLatLong(plan.center, noise.observe(cart.position, atMs))
      records.atMs[recorded] = atMs
      records.latE7[recorded] = toE7(lat)
      records.longE7[recorded] = toE7(long)
      records.speedMilliKmh[recorded] = reportedSpeed(style, cart, random)
      recorded++
    }
  }
  return records
}

function reportedSpeed(style: TrackStyle, cart: CartState, random: Random): number {
  if (style.speed === 'none') return NO_SPEED
  const errorKmh = SPEED_ERROR_KMH * random.gaussian()
  if (style.speed === 'tenths' || cart.speedMps === 0) return toMilli(reportedKmh(cart.speedMps, errorKmh))
  return toMilli(Math.max(0, cart.speedMps * 3.6 + errorKmh))
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
  { fromMs, toMs, sinceMs }: { fromMs: number; toMs: number; sinceMs: number },
): Generator<FilledSample, void, void> {
  const first = Math.ceil(sinceMs / INTERVAL_MS)
  const last = Math.floor(toMs / INTERVAL_MS)
  for (let tick = Math.ceil(fromMs / INTERVAL_MS); tick <= last; tick++) {
    for (const [n, deviceId] of deviceIds.entries()) {
      // the tick decides the position, so that later samples continue the track
      yield sampleOf(deviceId, n, tracks, tick - first + n * 97, tick * INTERVAL_MS - MAX_DELAY_MS)
    }
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
