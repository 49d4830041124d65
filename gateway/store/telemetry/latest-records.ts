import { gpsFromStored, type LatestBattery, type LatestGps } from '#domain/latest-state.ts'
import { fromMilli } from '#shared/geo.ts'
import { BATTERY, GPS, NO_SPEED } from '#shared/telemetry/records.ts'
import type { TelemetryReader } from './reader.ts'

/** Newest GPS record that is not after `untilMs`. */
export function latestGps(reader: TelemetryReader, deviceId: number, untilMs: number): LatestGps | null {
  const records = reader.page(GPS, deviceId, newestUntil(untilMs))
  const [atMs, latE7, longE7, speed] = [records.atMs, ...GPS.columnsOf(records)].map(([value]) => value)
  if (atMs === undefined || latE7 === undefined || longE7 === undefined) return null
  const speedMilliKmh = speed === undefined || speed === NO_SPEED ? null : speed
  return gpsFromStored({ atMs, latE7, longE7, speedMilliKmh })
}

/** Newest battery record that is not after `untilMs`. */
export function latestBattery(reader: TelemetryReader, deviceId: number, untilMs: number): LatestBattery | null {
  const { atMs, voltageMv } = reader.page(BATTERY, deviceId, newestUntil(untilMs))
  if (atMs[0] === undefined || voltageMv[0] === undefined) return null
  return { atMs: atMs[0], voltageV: fromMilli(voltageMv[0]) }
}

function newestUntil(toMs: number) {
  return { fromMs: 0, toMs, order: 'desc', limit: 1 } as const
}
