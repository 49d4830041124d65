import type { ObjectSchema } from '#shared/wire/schema/object-schema.ts'

/** A command a kind of device obeys. */
export interface CommandDefinition {
  /** Seconds after which it is too late to obey. */
  ttlS: number
  params: ObjectSchema
}

/** What a kind of device is. Kinds are data: adding one is adding a record of this shape. */
export interface DeviceType {
  name: string
  description: string
  /** The least specific layer of every configuration of its devices. */
  defaults: Record<string, unknown>
  /** What is known of configuration keys; others may be set and are sent all the same. */
  configSchema: ObjectSchema
  commands: Record<string, CommandDefinition>
  /** Its devices download their zones when they obey `fetch_geofences`; others get them by the topic of their group. */
  downloadsZones: boolean
}
