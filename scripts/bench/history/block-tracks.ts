import type { CartState } from '#scripts/commands/simulate/course/cart.ts'
import { GpsNoise } from '#scripts/commands/simulate/course/gps-noise.ts'
import { dayStartMs } from '#scripts/commands/simulate/course/model-day.ts'
import { toLatLong } from '#scripts/commands/simulate/course/plane.ts'
import { createCart, planFleet } from '#scripts/commands/simulate/fleet-plan.ts'
import { reportedKmh } from '#scripts/commands/simulate/sample.ts'
import { toE7, toMilli } from '#shared/geo.ts'
import { createRandom, type Random } from '#shared/random.ts'
import { GPS, type GpsRecords, NO_SPEED } from '#shared/telemetry/records.ts'

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

const inUse = (cart: CartState) => !cart.isLocked
const plain = { keeps: inUse, latenessMs: 0, speed: 'tenths' } as const

export const TRACK_STYLES: readonly TrackStyle[] = [
  { ...plain, name: '1 s, driving', intervalS: 1, keeps: (cart) => cart.speedMps > 0 },
  { ...plain, name: '1 s, parked', intervalS: 1, keeps: (cart) => cart.speedMps === 0 },
  { ...plain, name: '1 s, uneven', intervalS: 1, latenessMs: 200, speed: 'every-digit' },
  { ...plain, name: '5 s', intervalS: 5 },
  { ...plain, name: '5 s, without speed', intervalS: 5, speed: 'none' },
  { ...plain, name: '5 s, uneven', intervalS: 5, latenessMs: 200, speed: 'every-digit' },
  { ...plain, name: '30 s', intervalS: 30 },
  { ...plain, name: '30 s, uneven', intervalS: 30, latenessMs: 900, speed: 'every-digit' },
]

const DAY = 20_000
const DAY_S = 86_400
const CART = 2
const SPEED_ERROR_KMH = 0.2

/** Returns the first `count` positions of a simulated cart in that style; the same in every run. */
export function recordTrack(style: TrackStyle, count: number, index = CART): GpsRecords {
  const plan = planFleet({ seed: 1, carts: 12, center: { lat: 28.41, long: -81.58 }, prefix: 'bench' })
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
