import { z } from 'zod'
import { groupIdParams, groupIdSchema } from './groups.ts'
import { jsonObjectSchema } from './json-object.ts'
import { objectSchemaSchema } from './object-schema.ts'
import { isoSchema } from './params.ts'

/** A layer as it is sent: it replaces the one that is there. */
export const newLayerSchema = jsonObjectSchema.meta({
  description: 'Replaces the layer; a key that is null is left out; at most 8 KiB.',
  example: { realtime_enabled: false, key_keyless_state: 'keyless' },
})

const layerSchema = jsonObjectSchema.meta({ example: { key_keyless_state: 'keyless' } })

const published = z
  .number()
  .int()
  .meta({ description: 'Devices that were told other settings because of it.' })
const warnings = z
  .array(z.object({ name: z.string(), code: z.literal('unknown_key'), detail: z.string() }))
  .meta({ description: 'Keys the type does not know; they are stored and sent all the same.' })

export const groupConfigParams = groupIdParams.extend({
  type: z.string().meta({ description: 'Name of a device type.' }),
})

export const groupConfigSchema = z.object({
  group_id: groupIdSchema,
  device_type: z.string(),
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

export const deviceConfigSchema = z.object({
  hardware_id: z.string(),
  device_type: z.string(),
  group_id: groupIdSchema.nullable(),
  resolved: layerSchema.meta({ description: 'The layers merged by key: device over group over type.' }),
  layers: z.object({ type: layerSchema, group: layerSchema, device: layerSchema }),
  version: z
    .number()
    .int()
    .nullable()
    .meta({ description: 'Of the last message on dev/{hardware_id}/cfg; only grows.' }),
  published_at: isoSchema.nullable(),
  applied_version: z
    .number()
    .int()
    .nullable()
    .meta({ description: 'The version the device said last it has applied.' }),
  applied_at: isoSchema.nullable(),
  schema: objectSchemaSchema.optional(),
})

export type DeviceConfigJson = z.infer<typeof deviceConfigSchema>

export const deviceConfigPutSchema = deviceConfigSchema.extend({ published, warnings })
