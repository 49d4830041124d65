import { z } from 'zod'
import { isHardwareId } from '../ids.ts'
import { deviceConfigSchema } from './device-configs.ts'
import { groupIdSchema } from './groups.ts'
import { isoSchema, offsetParam, pageLimitParam, paginationSchema, stringListParam } from './params.ts'

const scalarSchema = z.union([z.string(), z.number(), z.boolean()])

export const deviceSchema = z.object({
  short_id: z.string(),
  hardware_id: z.string(),
  device_type: z.string(),
  name: z.string().nullable(),
  attributes: z.record(z.string(), scalarSchema).meta({
    description:
      'Latest reported values: lat, long (degrees), speed (km/h), battery_voltage (V), lock_status, others.',
  }),
  is_online: z.boolean(),
  group_id: z.number().int().nullable(),
  created_at: isoSchema,
  updated_at: isoSchema,
  last_responded_at: isoSchema.optional(),
})

export type DeviceJson = z.infer<typeof deviceSchema>

const streamDetailsSchema = z.object({
  count: z.number().int(),
  first_at: isoSchema.nullable(),
  last_at: isoSchema.nullable(),
})

export const deviceDetailsSchema = deviceSchema.extend({
  telemetry: z.object({ gps: streamDetailsSchema, battery: streamDetailsSchema }),
  dropped: z
    .record(z.string(), z.number().int())
    .meta({ description: 'What was not taken from its messages, by reason.' }),
  status: z
    .record(z.string(), scalarSchema)
    .nullable()
    .meta({ description: 'Its last st message: fw, boot, type …' }),
  config: deviceConfigSchema,
  geofences: z
    .object({ applied_version: z.number().int().nullable(), applied_at: isoSchema.nullable() })
    .meta({ description: 'The version of the zones it said last it has applied.' }),
  mqtt: z.object({ connected_since: isoSchema.nullable(), address: z.string().nullable() }),
})

export const deviceListSchema = z.object({ devices: z.array(deviceSchema), pagination: paginationSchema })

export type DeviceListJson = z.infer<typeof deviceListSchema>

/** `attr_<name>` parameters come beside these; `gateway/domain/device-filter.ts` reads them. */
export const deviceListQuerySchema = z
  .object({
    hardware_ids: stringListParam.optional(),
    device_type: z.string().optional(),
    search: z.string().optional(),
    limit: pageLimitParam,
    offset: offsetParam,
  })
  .catchall(z.union([z.string(), z.array(z.string())]))

const nameSchema = z.string().trim().max(200)
const deviceTypeSchema = z.string().min(1).max(64)

export const newDeviceSchema = z.strictObject({
  hardware_id: z
    .string()
    .refine(
      isHardwareId,
      'must be 1 to 64 letters, digits, dots, underscores or hyphens, not active, . or ..',
    ),
  device_type: deviceTypeSchema,
  name: nameSchema.nullable().optional(),
  group_id: groupIdSchema.nullable().optional(),
})

export const devicePatchSchema = z.strictObject({ name: nameSchema.nullable().optional() })

export const devicePutSchema = z.strictObject({
  name: nameSchema.nullable().optional(),
  device_type: deviceTypeSchema.optional(),
  group_id: groupIdSchema.nullable().optional(),
})

const mqttCredentialsSchema = z.object({
  username: z.string(),
  password: z.string().meta({ description: 'Shown only here; kept as a hash.' }),
  client_id: z.string(),
  topics: z.object({ publish: z.array(z.string()), subscribe: z.array(z.string()) }),
})

export const registeredDeviceSchema = z.object({ device: deviceSchema, mqtt: mqttCredentialsSchema })
export const rotatedPasswordSchema = z.object({ success: z.literal(true), mqtt: mqttCredentialsSchema })
export const deletedDeviceSchema = z.object({ success: z.literal(true), deleted: z.string() })
