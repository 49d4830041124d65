import { z } from 'zod'
import { groupIdParams, groupIdSchema } from './groups.ts'
import { jsonObjectSchema } from './schema/json-object.ts'
import { objectSchemaSchema } from './schema/object-schema.ts'
import { hardwareIdSchema, isoSchema } from './schema/params.ts'

/** Layer as sent; it replaces the existing one. */
export const newLayerSchema = jsonObjectSchema.meta({
  description: 'Configuration layer; replaces the existing one. Keys with null are omitted; at most 8 KiB.',
  example: { realtime_enabled: false, key_keyless_state: 'keyless' },
})

const layerSchema = jsonObjectSchema.meta({
  description: 'Settings by key.',
  example: { key_keyless_state: 'keyless' },
})

const published = z.number().int().meta({
  description: 'Number of devices whose configuration changed and was published.',
})
const warnings = z
  .array(
    z.object({
      name: z.string().meta({ description: 'Key of the setting.', example: 'beep' }),
      code: z.literal('unknown_key'),
      detail: z.string().meta({ description: 'Readable explanation.', example: 'is not in the schema' }),
    }),
  )
  .meta({ description: 'Keys that the type does not define; they are stored and published anyway.' })

export const groupConfigParams = groupIdParams.extend({
  type: z.string().meta({ description: 'Name of a device type.', example: 'teebox' }),
})

export const groupConfigSchema = z.object({
  group_id: groupIdSchema,
  device_type: z.string().meta({ description: 'Device type of the layer.', example: 'teebox' }),
  config: layerSchema,
  devices: z.number().int().meta({ description: 'Number of devices of this type in the group.' }),
  warnings,
})

export const groupConfigPutSchema = groupConfigSchema.extend({ published })

export const groupConfigsSchema = z.object({
  group_id: groupIdSchema,
  config: z
    .record(z.string(), layerSchema)
    .meta({ description: 'Layer of each device type.', example: { teebox: {}, cartcaddie: {} } }),
})

export const deviceConfigQuerySchema = z.object({
  schema: z.enum(['true', 'false']).default('false').meta({ description: 'Adds the JSON Schema of the type.' }),
})

export const deviceConfigSchema = z
  .object({
    hardware_id: hardwareIdSchema,
    device_type: z.string().meta({ description: 'Device type whose defaults apply.', example: 'teebox' }),
    group_id: groupIdSchema.nullable(),
    resolved: layerSchema.meta({ description: 'Layers merged by key: device over group over type.' }),
    layers: z
      .object({ type: layerSchema, group: layerSchema, device: layerSchema })
      .meta({ description: 'Layers from the least to the most specific.' }),
    version: z
      .number()
      .int()
      .nullable()
      .meta({ description: 'Version of the last message on dev/{hardware_id}/cfg; only increases.' }),
    published_at: isoSchema.nullable().meta({ description: 'Time of this message.' }),
    applied_version: z
      .number()
      .int()
      .nullable()
      .meta({ description: 'Version that the device last reported as applied.' }),
    applied_at: isoSchema.nullable().meta({ description: 'Time of this report.' }),
    schema: objectSchemaSchema.optional().meta({ description: 'JSON Schema of the type, with ?schema=true.' }),
  })
  .meta({ id: 'DeviceConfig' })

export type DeviceConfigJson = z.infer<typeof deviceConfigSchema>

export const deviceConfigPutSchema = deviceConfigSchema
  .extend({ published, warnings })
  .meta({ id: 'ChangedDeviceConfig' })
