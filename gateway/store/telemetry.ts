import { fromMilli } from '../../shared/geo.ts'
import { gpsFromStored, type LatestBattery, type LatestGps, type StoredGps } from '../domain/latest-state.ts'
import type { Connection } from './connection.ts'

export function latestGps(connection: Connection, deviceId: number, untilMs: number): LatestGps | null {
  const row = connection.get<StoredGps>(
    `SELECT at_ms AS atMs, lat_e7 AS latE7, long_e7 AS longE7, speed_milli_kmh AS speedMilliKmh
     FROM gps WHERE device_id = ? AND at_ms <= ? ORDER BY at_ms DESC LIMIT 1`,
    deviceId,
    untilMs,
  )
  return row === undefined ? null : gpsFromStored(row)
}

export function latestBattery(
  connection: Connection,
  deviceId: number,
  untilMs: number,
): LatestBattery | null {
  const row = connection.get<{ atMs: number; voltageMv: number }>(
    `SELECT at_ms AS atMs, voltage_mv AS voltageMv
     FROM battery WHERE device_id = ? AND at_ms <= ? ORDER BY at_ms DESC LIMIT 1`,
    deviceId,
    untilMs,
  )
  return row === undefined ? null : { atMs: row.atMs, voltageV: fromMilli(row.voltageMv) }
}

const STEP_ROWS = 2000

/** Deletes some of the telemetry of a deleted device. Returns whether there is more to do. */
export function deleteTelemetryStep(connection: Connection): boolean {
  const deviceId = connection.get<{ id: number }>(
    'SELECT device_id AS id FROM telemetry_deletion LIMIT 1',
  )?.id
  if (deviceId === undefined) return false
  const deleted = ['gps', 'battery'].map((table) =>
    connection.run(
      `DELETE FROM ${table} WHERE seq IN (SELECT seq FROM ${table} WHERE device_id = ? LIMIT ${STEP_ROWS})`,
      deviceId,
    ),
  )
  connection.db.pragma('incremental_vacuum(1000)')
  if (deleted.every((rows) => rows < STEP_ROWS))
    connection.run('DELETE FROM telemetry_deletion WHERE device_id = ?', deviceId)
  return true
}
