import { z } from 'zod'
import { groupIdParams, groupIdSchema } from './groups.ts'
import { jsonObjectSchema } from './schema/json-object.ts'
import { objectSchemaSchema } from './schema/object-schema.ts'
import { hardwareIdSchema, isoSchema } from './schema/params.ts'

/** A layer as it is sent: it replaces the one that is there. */
export const newLayerSchema = jsonObjectSchema.meta({
  description: 'Replaces the layer; a key that is null is left out; at most 8 KiB.',
  example: { realtime_enabled: false, key_keyless_state: 'keyless' },
})

const layerSchema = jsonObjectSchema.meta({
  description: 'Settings by key.',
  example: { key_keyless_state: 'keyless' },
})

const published = z.number().int().meta({ description: 'Devices whose configuration changed and was published.' })
const warnings = z
  .array(
    z.object({
      name: z.string().meta({ description: 'The key.', example: 'beep' }),
      code: z.literal('unknown_key'),
      detail: z.string().meta({ description: 'For people.', example: 'is not in the schema' }),
    }),
  )
  .meta({ description: 'Keys the type does not know; they are stored and published nevertheless.' })

export const groupConfigParams = groupIdParams.extend({
  type: z.string().meta({ description: 'Name of a device type.', example: 'teebox' }),
})

export const groupConfigSchema = z.object({
  group_id: groupIdSchema,
  device_type: z.string().meta({ description: 'The type it is for.', example: 'teebox' }),
  config: layerSchema,
  devices: z.number().int().meta({ description: 'Devices of the type in the group.' }),
  warnings,
})

export const groupConfigPutSchema = groupConfigSchema.extend({ published })

export const groupConfigsSchema = z.object({
  group_id: groupIdSchema,
  config: z
    .record(z.string(), layerSchema)
    .meta({ description: 'The layer of each device type.', example: { teebox: {}, cartcaddie: {} } }),
})

export const deviceConfigQuerySchema = z.object({
  schema: z
    .enum(['true', 'false'])
    .default('false')
    .meta({ description: 'Whether to add the JSON Schema of the type.' }),
})

export const deviceConfigSchema = z
  .object({
    hardware_id: hardwareIdSchema,
    device_type: z.string().meta({ description: 'The type whose defaults apply.', example: 'teebox' }),
    group_id: groupIdSchema.nullable(),
    resolved: layerSchema.meta({ description: 'The layers merged by key: device over group over type.' }),
    layers: z
      .object({ type: layerSchema, group: layerSchema, device: layerSchema })
      .meta({ description: 'From the least to the most specific.' }),
    version: z
      .number()
      .int()
      .nullable()
      .meta({ description: 'Of the last message on dev/{hardware_id}/cfg; only grows.' }),
    published_at: isoSchema.nullable().meta({ description: 'When that was.' }),
    applied_version: z
      .number()
      .int()
      .nullable()
      .meta({ description: 'The version the device last reported as applied.' }),
    applied_at: isoSchema.nullable().meta({ description: 'When it said so.' }),
    schema: objectSchemaSchema.optional().meta({ description: 'With ?schema=true: the JSON Schema of the type.' }),
  })
  .meta({ id: 'DeviceConfig' })

export type DeviceConfigJson = z.infer<typeof deviceConfigSchema>

export const deviceConfigPutSchema = deviceConfigSchema
  .extend({ published, warnings })
  .meta({ id: 'ChangedDeviceConfig' })
