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
  /** One after the other. */
  days: readonly ReportDay[]
  /** Of the cart; without any it is out while it is on a trip. */
  parking: readonly Zone[]
  /** For so long a cart that says nothing counts as where it was. */
  longestStepMs: number
  config: TripConfig
}

/** What a cart did on each day that it said of where it was. */
export interface UsageDay {
  date: string
  outMs: number
  distanceM: number
}

/** How a cart was used, by its fixes and its parking zones as they are now. Throws `too_many_positions`. */
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
