import { fromMilli } from '../../shared/geo.ts'
import type { TelemetryStream } from '../../shared/ids.ts'
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

export interface DeletedRecords {
  gps: number
  battery: number
}

export interface DeletionStep extends DeletedRecords {
  /** At its commit there was nothing left to delete. */
  isDone: boolean
}

/** The records of one device lie apart, one in every page of the table or two: so many pages a step are written. */
const DEVICE_STEP_ROWS = 500
/** Records in the order of the table lie side by side. */
const TABLE_STEP_ROWS = 2000

/** Deletes some of the telemetry of a deleted device. Returns whether there is more to do. */
export function deleteTelemetryStep(connection: Connection): boolean {
  const deviceId = connection.get<{ id: number }>(
    'SELECT device_id AS id FROM telemetry_deletion LIMIT 1',
  )?.id
  if (deviceId === undefined) return false
  if (deleteDeviceTelemetryStep(connection, { deviceId, streams: ['gps', 'battery'] }).isDone)
    connection.run('DELETE FROM telemetry_deletion WHERE device_id = ?', deviceId)
  return true
}

/** Deletes some of a device's records, oldest first, and keeps its counts true. */
export function deleteDeviceTelemetryStep(
  connection: Connection,
  { deviceId, streams }: { deviceId: number; streams: readonly TelemetryStream[] },
): DeletionStep {
  const step: DeletionStep = { gps: 0, battery: 0, isDone: true }
  for (const stream of streams) {
    step[stream] = deleteOldest(connection, stream, deviceId, Number.MAX_SAFE_INTEGER, DEVICE_STEP_ROWS)
    if (step[stream] === DEVICE_STEP_ROWS) step.isDone = false
  }
  return step
}

/**
 * Deletes some of all records of before `beforeMs`. Records of deleted devices, whose deletion is under way, are not
 * counted: nobody could see them.
 */
export function purgeTelemetryStep(connection: Connection, { beforeMs }: { beforeMs: number }): DeletionStep {
  const [gps, battery] = [
    purgeStream(connection, 'gps', beforeMs),
    purgeStream(connection, 'battery', beforeMs),
  ]
  return { gps: gps.counted, battery: battery.counted, isDone: gps.deleted + battery.deleted === 0 }
}

// Old records lie mostly at the beginning of the table, those of all devices mixed: deleted in that order each page is
// written once, deleted by device hundreds of times. What is not there (late uploads) is found by device.
function purgeStream(
  connection: Connection,
  stream: TelemetryStream,
  beforeMs: number,
): { deleted: number; counted: number } {
  const rows = connection.all<{ deviceId: number }>(
    `DELETE FROM ${stream} WHERE at_ms < ? AND seq IN (SELECT seq FROM ${stream} ORDER BY seq LIMIT ${TABLE_STEP_ROWS})
     RETURNING device_id AS deviceId`,
    beforeMs,
  )
  const ofDevices = new Map<number, number>()
  for (const { deviceId } of rows) ofDevices.set(deviceId, (ofDevices.get(deviceId) ?? 0) + 1)
  let counted = 0
  for (const [deviceId, deleted] of ofDevices) {
    if (uncount(connection, stream, deviceId, deleted)) counted += deleted
  }
  if (rows.length >= TABLE_STEP_ROWS / 2) return { deleted: rows.length, counted }
  const late = purgeByDevice(connection, stream, beforeMs)
  return { deleted: rows.length + late, counted: counted + late }
}

function purgeByDevice(connection: Connection, stream: TelemetryStream, beforeMs: number): number {
  const devices = connection.all<{ deviceId: number }>(
    `SELECT device_id AS deviceId FROM device_state WHERE ${stream}_first_ms < ? LIMIT ${DEVICE_STEP_ROWS}`,
    beforeMs,
  )
  let deleted = 0
  for (const { deviceId } of devices) {
    if (deleted >= DEVICE_STEP_ROWS) break
    deleted += deleteOldest(connection, stream, deviceId, beforeMs, DEVICE_STEP_ROWS - deleted)
  }
  return deleted
}

function deleteOldest(
  connection: Connection,
  stream: TelemetryStream,
  deviceId: number,
  beforeMs: number,
  limit: number,
): number {
  const deleted = connection.run(
    `DELETE FROM ${stream} WHERE seq IN
       (SELECT seq FROM ${stream} WHERE device_id = ? AND at_ms < ? ORDER BY at_ms LIMIT ?)`,
    deviceId,
    beforeMs,
    limit,
  )
  if (deleted > 0) uncount(connection, stream, deviceId, deleted)
  return deleted
}

/** Returns whether the device is registered. */
function uncount(
  connection: Connection,
  stream: TelemetryStream,
  deviceId: number,
  deleted: number,
): boolean {
  return (
    connection.run(
      `UPDATE device_state SET ${stream}_count = ${stream}_count - ?,
         ${stream}_first_ms = (SELECT min(at_ms) FROM ${stream} WHERE device_id = device_state.device_id),
         ${stream}_last_ms = (SELECT max(at_ms) FROM ${stream} WHERE device_id = device_state.device_id)
       WHERE device_id = ?`,
      deleted,
      deviceId,
    ) > 0
  )
}
