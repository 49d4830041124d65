import type { ReportDay } from '#shared/reports/day-sums.ts'
import { TimeOut } from '#shared/reports/time-out.ts'
import { type TrafficCells, TrafficGrid } from '#shared/reports/traffic-grid.ts'
import { watchedZones } from '#shared/zones/watched-zones.ts'
import type { Zone } from '#shared/zones/zone.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'
import { type CartDevices, cartTrackOf, LOOKBACK_MS } from './cart-days.ts'

/** Cart of a report, with its current parking zones. */
export interface WatchedCart {
  devices: CartDevices
  parking: readonly Zone[]
}

export interface TrafficQuery {
  carts: readonly WatchedCart[]
  /** Consecutive ranges of time. */
  days: readonly ReportDay[]
  longestStepMs: number
  cellsMax: number
}

/** Positions of carts while they were out. Throws `too_many_positions`. */
export function readTraffic(tools: ReaderTools, query: TrafficQuery): TrafficCells {
  const { carts, days, longestStepMs, cellsMax } = query
  const grid = new TrafficGrid(cellsMax)
  const firstMs = days[0]?.fromMs ?? 0
  for (const { devices, parking } of carts) {
    const outings = new TimeOut(watchedZones(parking), (fromMs, untilMs, latE7, longE7) => {
      const ms = Math.min(untilMs, fromMs + longestStepMs) - Math.max(fromMs, firstMs)
      if (ms > 0) grid.add(latE7, longE7, ms / 1000)
    })
    const { before, byDay } = cartTrackOf(tools, devices, days, LOOKBACK_MS)
    outings.take(before)
    for (const fixes of byDay) outings.take(fixes)
    outings.end(days.at(-1)?.untilMs ?? 0)
  }
  return grid.cells()
}
