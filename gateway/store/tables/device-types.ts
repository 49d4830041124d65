import type { ObjectSchema } from '#shared/wire/schema/object-schema.ts'
import { changed, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { names, table } from '../db/table.ts'
import { type Publication, storePublication } from './device-configs.ts'

export const deviceTypeTable = table('device_type', {
  care: {
    what: 'the device types added by admins',
    isRemembered: true,
    meaning: 'Missing types must be added again.',
  },
  json: {
    defaults: { type: 'object', cure: 'delete' },
    config_schema: { type: 'object', cure: 'delete' },
    commands: { type: 'object', cure: 'delete' },
  },
  replicated: {
    columns: names('name, description, defaults, config_schema, commands'),
    key: 't.name',
    where: 't.name = ?',
  },
})

export interface DeviceTypeRow {
  name: string
  description: string
  defaults: Record<string, unknown>
  configSchema: ObjectSchema
  commands: Record<string, { ttlS: number; params: ObjectSchema }>
}

type StoredDeviceType = Record<'name' | 'description' | 'defaults' | 'configSchema' | 'commands', string>

export function listDeviceTypes(connection: Connection): DeviceTypeRow[] {
  return connection
    .all<StoredDeviceType>(
      `SELECT name, description, defaults, config_schema, commands
       FROM device_type ORDER BY name`,
    )
    .map(({ name, description, defaults, configSchema, commands }) => ({
      name,
      description,
      defaults: JSON.parse(defaults),
      configSchema: JSON.parse(configSchema),
      commands: JSON.parse(commands),
    }))
}

export const putDeviceType = write(
  (connection: Connection, { type, publication }: { type: DeviceTypeRow; publication: Publication }): null => {
    connection.run(
      'INSERT OR REPLACE INTO device_type (name, description, defaults, config_schema, commands) VALUES (?, ?, ' +
        '?, ?, ?)',
      type.name,
      type.description,
      JSON.stringify(type.defaults),
      JSON.stringify(type.configSchema),
      JSON.stringify(type.commands),
    )
    storePublication(connection, publication)
    return null
  },
  { audit: changed(deviceTypeTable, ({ type }) => type.name) },
)
