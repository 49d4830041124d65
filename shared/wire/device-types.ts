import { z } from 'zod'
import { jsonObjectSchema } from './schema/json-object.ts'
import { objectSchemaSchema } from './schema/object-schema.ts'

const TTL_SECONDS_MAX = 86_400

const commandDefinitionSchema = z.strictObject({
  ttl_seconds: z
    .number()
    .int()
    .min(1)
    .max(TTL_SECONDS_MAX)
    .meta({ description: 'Time to live in seconds, after which the device ignores the command.', example: 60 }),
  params_schema: objectSchemaSchema.meta({ description: 'JSON Schema of the parameters.' }),
})

const commandsSchema = z
  .record(
    z.string().regex(/^[A-Za-z0-9_]{1,64}$/, 'must be 1 to 64 letters, digits and underscores'),
    commandDefinitionSchema,
  )
  .refine((commands) => Object.keys(commands).length <= 100, 'has at most 100 commands')
  .meta({ description: 'Commands that the devices support, by name.' })

const fields = {
  description: z.string().max(500).meta({
    description: 'Description in words.',
    example: 'Lock and tracker of a cart.',
  }),
  defaults: jsonObjectSchema.meta({
    description: 'Defaults, the least specific layer of every configuration; at most 8 KiB.',
    example: { realtime_enabled: true, key_keyless_state: 'key' },
  }),
  config_schema: objectSchemaSchema.meta({
    description: 'JSON Schema of the known configuration keys; other keys are accepted as well.',
  }),
  commands: commandsSchema,
}

export const deviceTypeSchema = z
  .object({
    name: z.string().meta({ description: 'Name that devices refer to as device_type.', example: 'teebox' }),
    ...fields,
  })
  .meta({ id: 'DeviceType' })
export type DeviceTypeJson = z.infer<typeof deviceTypeSchema>

/** Replaces the whole type: an absent description becomes empty. */
export const deviceTypePutSchema = z.strictObject({ ...fields, description: fields.description.default('') })

export const newDeviceTypeParams = z.object({
  type: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, underscores or hyphens')
    .meta({ description: 'Name of a device type.', example: 'teebox' }),
})

export const deviceTypeParams = z.object({
  type: z.string().meta({ description: 'Name of a device type.', example: 'teebox' }),
})

export const putDeviceTypeSchema = deviceTypeSchema.extend({
  published: z.number().int().meta({ description: 'Number of devices whose configuration changed and was published.' }),
})
