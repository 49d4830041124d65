import { DaySums, type ReportDay } from '#shared/reports/day-sums.ts'
import { distanceDrivenM, tripsOf } from '#shared/reports/distance.ts'
import { TimeOut } from '#shared/reports/time-out.ts'
import type { TripConfig } from '#shared/trips/config.ts'
import { watchedZones } from '#shared/zones/watched-zones.ts'
import type { Zone } from '#shared/zones/zone.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'
import { type CartDevices, cartTrackOf, LOOKBACK_MS } from './cart-days.ts'

export interface UtilisationQuery {
  devices: CartDevices
  /** Consecutive days. */
  days: readonly ReportDay[]
  /** Parking zones of the cart; without any it counts as out while it is on a trip. */
  parking: readonly Zone[]
  /** Time in ms for which a cart without reports counts as still being at its last position. */
  longestStepMs: number
  config: TripConfig
}

/** Use of a cart on a day on which it reported positions. */
export interface UsageDay {
  date: string
  outMs: number
  distanceM: number
}

/** Use of a cart, from its fixes and its current parking zones. Throws `too_many_positions`. */
export function readUtilisation(tools: ReaderTools, query: UtilisationQuery): UsageDay[] {
  const { devices, days, parking, longestStepMs, config } = query
  const out = new DaySums(days)
  const firstMs = days[0]?.fromMs ?? 0
  const outings = new TimeOut(watchedZones(parking), (fromMs, untilMs) =>
    out.add(Math.max(fromMs, firstMs), Math.min(untilMs, fromMs + longestStepMs)),
  )
  const hasParking = parking.length > 0
  const driven = new Map<number, number>()
  const { before, byDay } = cartTrackOf(tools, devices, days, LOOKBACK_MS)
  outings.take(before)
  let i = 0
  for (const fixes of byDay) {
    if (hasParking) outings.take(fixes)
    else for (const trip of tripsOf(fixes, config)) out.add(trip.startMs, trip.endMs)
    if (fixes.atMs.length > 0) driven.set(i, distanceDrivenM(fixes, config))
    i++
  }
  outings.end(days.at(-1)?.untilMs ?? 0)
  return [...driven].map(([day, distanceM]) => ({
    date: days[day]?.date ?? '',
    outMs: out.ms[day] ?? 0,
    distanceM,
  }))
}
