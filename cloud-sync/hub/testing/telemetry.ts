import { RowHashSum } from '#shared/sync-hash.ts'
import { encodeBlock } from '#shared/telemetry/block.ts'
import { addRecords } from '#shared/telemetry/record-sum.ts'
import { BATTERY, GPS, type GpsRecords } from '#shared/telemetry/records.ts'
import type { TelemetryRun } from '#shared/telemetry/runs.ts'

/** Range of all records. */
export const EVER = { fromMs: 0, toMs: 8_000_000_000_000 }

/** Returns positions at these times; the latitude is constant for whole seconds. */
export function gpsAt(times: readonly number[], latE7 = 365_000_000): GpsRecords {
  const records = GPS.allocate(times.length)
  records.atMs.set(times)
  for (const [i, timeMs] of times.entries()) records.latE7[i] = latE7 + (timeMs % 1000)
  return records
}

export function gpsRun(hardwareId: string, times: readonly number[], latE7?: number): TelemetryRun {
  return { hardwareId, stream: 'gps', records: gpsAt(times, latE7) }
}

export function gpsBlock(hardwareId: string, times: readonly number[]) {
  return { hardwareId, block: encodeBlock(GPS, gpsAt(times)), count: times.length }
}

/** Returns battery records without a voltage, which have the fewest bytes. */
export function batteryRun(hardwareId: string, times: readonly number[]): TelemetryRun {
  const records = BATTERY.allocate(times.length)
  records.atMs.set(times)
  return { hardwareId, stream: 'battery', records }
}

/** Returns the count and sum of records for an audit. */
export function sumOf(records: GpsRecords) {
  const sum = new RowHashSum()
  addRecords(sum, GPS, records)
  return { count: sum.count, sum: sum.toString() }
}
