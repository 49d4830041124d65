import type { SessionChange } from '#domain/mqtt-sessions.ts'
import { changed, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'
import { hardwareIdOf } from '../telemetry/device-state.ts'
import { applySessionChange } from './mqtt-sessions.ts'

export const groupConfigTable = table('group_config', {
  care: {
    what: 'the configuration of groups',
    isRemembered: true,
    meaning: 'Devices without it get the defaults of their type.',
  },
  json: {
    config: { type: 'object', cure: 'delete' },
  },
  replicated: {
    columns: ['group_id', 'device_type', 'config'],
    key: "t.group_id || '/' || t.device_type",
    where: 't.group_id = ? AND t.device_type = ?',
    valuesOf: (key) => [Number(key.split('/', 1)[0]), key.slice(key.indexOf('/') + 1)],
  },
  belongsTo: ['group_id', 'device_group'],
  noun: 'config',
})

export const deviceConfigTable = table('device_config', {
  care: {
    what: 'the configuration of single devices',
    isRemembered: true,
    meaning: 'Devices without it get the configuration of their group.',
  },
  json: {
    config: { type: 'object', cure: 'delete' },
  },
  replicated: {
    columns: ['hardware_id', 'config'],
    key: 'd.hardware_id',
    from: 'device_config t JOIN device d USING (device_id)',
    where: 'd.hardware_id = ?',
  },
  belongsTo: ['device_id', 'device'],
  noun: 'config',
})

export const configVersionTable = table('config_version', {
  care: {
    what: 'the last version of a configuration',
    isRemembered: true,
    meaning: 'Version numbers continue above all published ones.',
    afterLoss: [
      `INSERT OR IGNORE INTO config_version (config_version_id, version)
         SELECT 1, 1000 + ifnull(max(iif(json_valid(body), json_extract(body, '$.v'), 0)), 0)
         FROM (SELECT CAST(payload AS TEXT) AS body FROM mqtt_retained WHERE topic LIKE 'dev/%/cfg')`,
    ],
  },
})

/** Configurations published to devices; stored in the transaction that changes them. */
export interface Publication {
  /** Null when nothing is published. */
  version: number | null
  sessionChanges: SessionChange[]
}

/** Configuration layers as JSON objects, and the retained messages with the resulting configurations. */
export interface StoredConfigs {
  groupLayers: { groupId: number; deviceType: string; config: string }[]
  deviceLayers: { hardwareId: string; config: string }[]
  /** Payloads of the `cfg` topics. */
  published: { topic: string; payload: Uint8Array | string }[]
  /** Highest version published to any device. */
  version: number
}

export function loadConfigs(connection: Connection): StoredConfigs {
  return {
    groupLayers: connection.all(
      `SELECT group_id, device_type, config
       FROM group_config ORDER BY group_id, device_type`,
    ),
    deviceLayers: connection.all(
      `SELECT d.hardware_id, c.config
       FROM device_config c JOIN device d USING (device_id) ORDER BY d.hardware_id`,
    ),
    published: connection.all("SELECT topic, payload FROM mqtt_retained WHERE topic LIKE 'dev/%/cfg' ORDER BY topic"),
    version: connection.get<{ version: number }>('SELECT version FROM config_version')?.version ?? 0,
  }
}

/** Stores published configurations; the caller holds the transaction. */
export function storePublication(connection: Connection, { version, sessionChanges }: Publication): void {
  if (version !== null) connection.run('UPDATE config_version SET version = ?', version)
  for (const change of sessionChanges) applySessionChange(connection, change)
}

/** Publishes changes to devices that were stored before. */
export const publishConfigs = write(
  (connection: Connection, publication: Publication): null => {
    storePublication(connection, publication)
    return null
  },
  { audit: null },
)

interface NewLayer {
  /** A JSON object, or null for an empty layer. */
  config: string | null
  publication: Publication
}

export const putGroupConfig = write(
  (
    connection: Connection,
    { groupId, deviceType, config, publication }: NewLayer & { groupId: number; deviceType: string },
  ): null => {
    if (config === null)
      connection.run('DELETE FROM group_config WHERE group_id = ? AND device_type = ?', groupId, deviceType)
    else
      connection.run(
        'INSERT OR REPLACE INTO group_config (group_id, device_type, config) VALUES (?, ?, ?)',
        groupId,
        deviceType,
        config,
      )
    storePublication(connection, publication)
    return null
  },
  { audit: changed(groupConfigTable, ({ groupId, deviceType }) => `${groupId}/${deviceType}`) },
)

export const putDeviceConfig = write(
  (connection: Connection, { deviceId, config, publication }: NewLayer & { deviceId: number }): null => {
    if (config === null) connection.run('DELETE FROM device_config WHERE device_id = ?', deviceId)
    else connection.run('INSERT OR REPLACE INTO device_config (device_id, config) VALUES (?, ?)', deviceId, config)
    storePublication(connection, publication)
    return null
  },
  { audit: changed(deviceConfigTable, ({ deviceId }, connection) => hardwareIdOf(connection, deviceId)) },
)
