import type { ObjectSchema } from '#shared/wire/schema/object-schema.ts'

export interface CommandDefinition {
  /** Time in seconds after which the device must no longer execute it. */
  ttlS: number
  params: ObjectSchema
}

/** Definition of a device type. Types are data: a new one is a new record of this shape. */
export interface DeviceType {
  name: string
  description: string
  /** Names in lists of devices that people write, in lower case: English and German. */
  otherNames?: readonly string[]
  /** Least specific layer of every configuration of its devices. */
  defaults: Record<string, unknown>
  /** Schema of known configuration keys; others may be set and are sent anyway. */
  configSchema: ObjectSchema
  commands: Record<string, CommandDefinition>
  /** True if its devices download their zones on `fetch_geofences`; others get them by the topic of their group. */
  downloadsZones: boolean
}
