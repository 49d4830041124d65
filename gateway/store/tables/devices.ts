import { emptyState } from '#domain/latest-state.ts'
import { ConflictError, InvalidRequestError, NotFoundError } from '#shared/errors.ts'
import { newShortId } from '#shared/ids.ts'
import { changed, event, withSecret, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { names, table } from '../db/table.ts'
import { type DeviceState, STATE_COLUMNS, type StateRow, stateOfRow } from '../telemetry/device-state.ts'
import { markErasure } from '../telemetry/erasure.ts'
import { type NewRecords, readUnsaved, UnsavedRecords } from '../telemetry/unsaved-states.ts'
import { failCommandsOf } from './commands.ts'
import { type Publication, storePublication } from './device-configs.ts'
import { isGroup } from './groups.ts'
import { deleteMqttTraces } from './mqtt-sessions.ts'

export const deviceTable = table('device', {
  care: {
    what: 'the devices',
    isRemembered: true,
    meaning: 'Missing devices cannot connect until they are registered again; their history is not shown.',
  },
  replicated: {
    columns: names(`device_id, hardware_id, short_id, device_type, name, cart, group_id, created_at_ms,
      updated_at_ms`),
    times: ['updated_at_ms'],
    key: 't.hardware_id',
    where: 't.hardware_id = ?',
  },
})

export const deviceStateTable = table('device_state', {
  care: {
    what: 'the latest state of the devices',
    meaning:
      'Missing devices show no state until they send the next one, and their records are not counted. ' +
      'Missing values return when devices send them again.',
    afterLoss: [
      `INSERT OR IGNORE INTO device_state (device_id, latest, updated_at_ms)
         SELECT device_id, '{}', updated_at_ms FROM device`,
    ],
  },
  json: {
    latest: { type: 'object', cure: { set: "latest = '{}'" } },
    watch: { type: 'object', cure: 'null' },
  },
  belongsTo: ['device_id', 'device'],
})

export const removedDeviceTable = table('removed_device', {
  care: {
    what: 'the ids of removed devices',
    isRemembered: true,
    meaning: 'A removed device without a row can enrol again with the shared key.',
  },
})

export interface DeviceRow {
  deviceId: number
  hardwareId: string
  shortId: string
  deviceType: string
  name: string | null
  /** Cart that the device is in; null for a device that is a cart of its own. */
  cart: string | null
  groupId: number | null
  /** Time of its last acknowledgement of the zones of its previous group; null if it was in no other group. */
  otherGroupAckMs: number | null
  mqttPasswordHash: string
  /** Enrolled with the shared key, which it may use until it has connected with a password of its own. */
  isOnSharedKey: boolean
  createdAtMs: number
  updatedAtMs: number
}

/** Device with the state from its messages, as read at the start. */
export interface StoredDevice {
  row: DeviceRow
  known: DeviceState
}

export interface StreamCounts {
  count: number
  firstMs: number | null
  lastMs: number | null
}

export interface DeviceCounts {
  gps: StreamCounts
  battery: StreamCounts
}

/** Row of SQLite, without booleans. */
type Stored<Row extends DeviceRow> = Omit<Row, 'isOnSharedKey'> & { isOnSharedKey: number }

const DEVICE_COLUMNS = `d.device_id, d.hardware_id, d.short_id,
  d.device_type, d.name, d.cart, d.group_id, d.other_group_ack_ms,
  d.mqtt_password_hash,
  d.is_on_shared_key, d.created_at_ms, d.updated_at_ms`

export function listDevices(connection: Connection): StoredDevice[] {
  return connection.snapshot(() => {
    const { states } = readUnsaved(connection)
    return connection
      .all<Stored<DeviceRow> & StateRow>(`SELECT ${DEVICE_COLUMNS}, ${STATE_COLUMNS}
        FROM device d JOIN device_state s USING (device_id) ORDER BY d.hardware_id`)
      .map(({ latestJson, stateUpdatedAtMs, lastRespondedAtMs, watchJson, isOnSharedKey, ...row }) => ({
        row: { ...row, isOnSharedKey: isOnSharedKey === 1 },
        known: states.get(row.deviceId) ?? stateOfRow({ latestJson, stateUpdatedAtMs, lastRespondedAtMs, watchJson }),
      }))
  })
}

interface CountsRow {
  gpsCount: number
  gpsFirstMs: number | null
  gpsLastMs: number | null
  batteryCount: number
  batteryFirstMs: number | null
  batteryLastMs: number | null
}

/** `unsaved` must use the same connection. */
export function deviceCounts(
  connection: Connection,
  deviceId: number,
  unsaved = new UnsavedRecords(connection),
): DeviceCounts {
  return connection.snapshot(() => {
    const row = connection.get<CountsRow>(
      `SELECT gps_count, gps_first_ms, gps_last_ms,
         battery_count, battery_first_ms, battery_last_ms
       FROM device_state WHERE device_id = ?`,
      deviceId,
    )
    const nothing = { count: 0, firstMs: null, lastMs: null }
    if (row === undefined) return { gps: nothing, battery: nothing }
    const records = unsaved.counts().byDevice.get(deviceId)
    const gps = { count: row.gpsCount, firstMs: row.gpsFirstMs, lastMs: row.gpsLastMs }
    const battery = { count: row.batteryCount, firstMs: row.batteryFirstMs, lastMs: row.batteryLastMs }
    return { gps: withNew(gps, records?.gps), battery: withNew(battery, records?.battery) }
  })
}

function withNew(counts: StreamCounts, records: NewRecords | undefined): StreamCounts {
  if (records === undefined || records.count === 0) return counts
  return {
    count: counts.count + records.count,
    firstMs: Math.min(counts.firstMs ?? records.firstMs, records.firstMs),
    lastMs: Math.max(counts.lastMs ?? records.lastMs, records.lastMs),
  }
}

/** Number of stored records of the whole fleet: a sum over devices, independent of the size of the history. */
export function fleetCounts(
  connection: Connection,
  unsaved = new UnsavedRecords(connection),
): { gps: number; battery: number } {
  return connection.snapshot(() => {
    const total = connection.get<{ gps: number; battery: number }>(
      'SELECT ifnull(sum(gps_count), 0) AS gps, ifnull(sum(battery_count), 0) AS battery FROM device_state',
    ) ?? { gps: 0, battery: 0 }
    const { byDevice } = unsaved.counts()
    // the log still has records of deleted devices
    const registered = connection.all<{ deviceId: number }>(
      'SELECT device_id FROM device_state WHERE device_id IN (SELECT value FROM json_each(?))',
      JSON.stringify([...byDevice.keys()]),
    )
    for (const { deviceId } of registered) {
      const { gps, battery } = byDevice.get(deviceId) ?? {}
      total.gps += gps?.count ?? 0
      total.battery += battery?.count ?? 0
    }
    return total
  })
}

export interface NewDevice {
  hardwareId: string
  deviceType: string
  name: string | null
  cart?: string | null
  groupId: number | null
  mqttPasswordHash: string
  isOnSharedKey?: boolean
  nowMs: number
  /** Initial configuration of the device. */
  publication: Publication
}

/** Throws `device_exists` if the id is a known hardware or short id (both find a device in a path), `unknown_group`. */
export const createDevice = write(
  (connection: Connection, input: NewDevice): DeviceRow => {
    const { hardwareId, deviceType, name, cart = null, groupId, nowMs } = input
    if (isIdTaken(connection, hardwareId)) {
      throw new ConflictError('device_exists', `a device ${hardwareId} exists already`)
    }
    if (groupId !== null) requireGroup(connection, groupId)
    let shortId = newShortId()
    while (isIdTaken(connection, shortId)) shortId = newShortId()
    connection.run(
      `INSERT INTO device (hardware_id, short_id, device_type, name, cart, group_id, mqtt_password_hash,
        is_on_shared_key,
       created_at_ms, updated_at_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      hardwareId,
      shortId,
      deviceType,
      name,
      cart,
      groupId,
      input.mqttPasswordHash,
      Number(input.isOnSharedKey ?? false),
      nowMs,
      nowMs,
    )
    connection.run('DELETE FROM removed_device WHERE hardware_id = ?', hardwareId)
    connection.run(
      'INSERT INTO device_state (device_id, latest, updated_at_ms) SELECT device_id, ?, ? FROM device WHERE ' +
        'hardware_id = ?',
      JSON.stringify(emptyState()),
      nowMs,
      hardwareId,
    )
    storePublication(connection, input.publication)
    return findDevice(connection, hardwareId)
  },
  { audit: changed(deviceTable, ({ hardwareId }) => hardwareId) },
)

function isIdTaken(connection: Connection, id: string): boolean {
  return connection.get('SELECT 1 FROM device WHERE hardware_id = ? OR short_id = ?', id, id) !== undefined
}

function requireGroup(connection: Connection, groupId: number): void {
  if (!isGroup(connection, groupId)) throw new InvalidRequestError('unknown_group', `there is no group ${groupId}`)
}

function findDevice(connection: Connection, hardwareId: string): DeviceRow {
  const row = connection.get<Stored<DeviceRow>>(
    `SELECT ${DEVICE_COLUMNS} FROM device d WHERE d.hardware_id = ?`,
    hardwareId,
  )
  if (row === undefined) throw new NotFoundError('device_not_found', `there is no device ${hardwareId}`)
  return { ...row, isOnSharedKey: row.isOnSharedKey === 1 }
}

export interface DeviceChange {
  hardwareId: string
  deviceType?: string
  name?: string | null
  cart?: string | null
  groupId?: number | null
  /** Set together with another group: time of its last acknowledgement of zones. */
  otherGroupAckMs?: number | null
  mqttPasswordHash?: string
  nowMs: number
  /** Configuration that results from another type or group. */
  publication?: Publication
}

/** Throws `unknown_group`. */
export const updateDevice = write(
  (connection: Connection, change: DeviceChange): DeviceRow => {
    const known = findDevice(connection, change.hardwareId)
    if (typeof change.groupId === 'number') requireGroup(connection, change.groupId)
    connection.run(
      `UPDATE device SET device_type = ?, name = ?, cart = ?, group_id = ?, other_group_ack_ms = ?, mqtt_password_hash
        = ?,
       is_on_shared_key = ?, updated_at_ms = ?
     WHERE device_id = ?`,
      change.deviceType ?? known.deviceType,
      change.name === undefined ? known.name : change.name,
      change.cart === undefined ? known.cart : change.cart,
      change.groupId === undefined ? known.groupId : change.groupId,
      change.otherGroupAckMs === undefined ? known.otherGroupAckMs : change.otherGroupAckMs,
      change.mqttPasswordHash ?? known.mqttPasswordHash,
      // an admin who sets a password also enters it in the device
      Number(known.isOnSharedKey && change.mqttPasswordHash === undefined),
      change.nowMs,
      known.deviceId,
    )
    if (change.publication !== undefined) storePublication(connection, change.publication)
    return findDevice(connection, change.hardwareId)
  },
  {
    audit: withSecret(
      () => 'device.password_rotated',
      changed(deviceTable, ({ hardwareId }) => hardwareId),
      (input) => (input.mqttPasswordHash === undefined ? null : input.hardwareId),
    ),
  },
)

/** Issues a password of its own to a device that uses the shared key; null if it needs none any more. */
export const issuePassword = write(
  (connection: Connection, input: { hardwareId: string; mqttPasswordHash: string }): DeviceRow | null => {
    const issued = connection.run(
      'UPDATE device SET mqtt_password_hash = ? WHERE hardware_id = ? AND is_on_shared_key = 1',
      input.mqttPasswordHash,
      input.hardwareId,
    )
    return issued === 0 ? null : findDevice(connection, input.hardwareId)
  },
  {
    audit:
      (_, { hardwareId }) =>
      (row) =>
        row === null ? [] : [event('device.password_issued', hardwareId, null)],
  },
)

/** Confirms that the device uses this password and no longer the shared key; null if it was issued another since. */
export const confirmPassword = write(
  (
    connection: Connection,
    input: { hardwareId: string; mqttPasswordHash: string; nowMs: number },
  ): DeviceRow | null => {
    const { hardwareId, mqttPasswordHash, nowMs } = input
    const confirmed = connection.run(
      `UPDATE device SET is_on_shared_key = 0, updated_at_ms = ?
     WHERE hardware_id = ? AND mqtt_password_hash = ? AND is_on_shared_key = 1`,
      nowMs,
      hardwareId,
      mqttPasswordHash,
    )
    return confirmed === 0 ? null : findDevice(connection, hardwareId)
  },
  {
    // the device proved that it has the issued password
    audit: null,
  },
)

/** Devices whose password is the shared key, from before each got a password of its own; they must be issued one. */
export const revokeSharedPasswords = write(
  (connection: Connection, input: { keyHash: string }): number => {
    return connection.run(
      `UPDATE device SET is_on_shared_key = 1, mqtt_password_hash = '' WHERE mqtt_password_hash = ?`,
      input.keyHash,
    )
  },
  {
    // at the start, after an upgrade
    audit: null,
  },
)

/** Hardware ids that were removed and not registered again. */
export function listRemovedDevices(connection: Connection): string[] {
  return connection
    .all<{ hardwareId: string }>('SELECT hardware_id FROM removed_device ORDER BY hardware_id')
    .map(({ hardwareId }) => hardwareId)
}

/**
 * Removes a device immediately. Its telemetry is unreachable from then on and is deleted in steps of
 * `deleteTelemetryStep`, so that a long history never delays messages of devices. Lock events and commands are kept.
 */
export const deleteDevice = write(
  (connection: Connection, input: { hardwareId: string; nowMs: number }): DeviceRow => {
    const known = findDevice(connection, input.hardwareId)
    connection.run('DELETE FROM device WHERE device_id = ?', known.deviceId)
    connection.run(
      'INSERT OR REPLACE INTO removed_device (hardware_id, removed_at_ms) VALUES (?, ?)',
      known.hardwareId,
      input.nowMs,
    )
    deleteMqttTraces(connection, known.hardwareId)
    failCommandsOf(connection, known.hardwareId)
    connection.run('INSERT INTO telemetry_deletion (device_id) VALUES (?)', known.deviceId)
    // its samples in the log count as deleted: they are not sent under its name from then on
    markErasure(connection, { hardwareId: known.hardwareId, streams: ['gps', 'battery'], nowMs: input.nowMs })
    return known
  },
  { audit: changed(deviceTable, ({ hardwareId }) => hardwareId) },
)
