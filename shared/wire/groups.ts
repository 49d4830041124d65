import { z } from 'zod'
import { MAX_GROUP_ID } from '#shared/ids.ts'
import { oneLine } from './schema/name.ts'
import { hardwareIdSchema, isoSchema, wholeNumber } from './schema/params.ts'

export const groupIdSchema = z
  .number()
  .int()
  .min(1)
  .max(MAX_GROUP_ID)
  .meta({ description: 'Group id, shared with the legacy geofence endpoints.', example: 42 })

const NAME = { description: 'Display name.', example: 'Front nine' }
const nameSchema = oneLine.min(1).meta(NAME)

export const groupSchema = z
  .object({
    group_id: groupIdSchema,
    name: z.string().meta(NAME),
    device_count: z.number().int().meta({ description: 'Number of devices in the group.', example: 36 }),
    geofence_version: z.number().int().meta({
      description: 'Version of its geofences; 0 if none were ever published.',
    }),
    created_at: isoSchema,
    updated_at: isoSchema,
  })
  .meta({ id: 'Group' })

export type GroupJson = z.infer<typeof groupSchema>

export const newGroupSchema = z.strictObject({ name: nameSchema, group_id: groupIdSchema.optional() })
export const groupPatchSchema = z.strictObject({ name: nameSchema.optional() })

const groupIdParam = wholeNumber(1, MAX_GROUP_ID).meta({ description: 'group_id', example: 42 })

export const groupIdParams = z.object({ groupId: groupIdParam })

export const groupDeviceParams = z.object({
  groupId: groupIdParam,
  id: z.string().meta({ description: 'hardware_id or short_id', example: 'cart-07' }),
})

export const deletedGroupSchema = z.object({ success: z.literal(true), deleted: groupIdSchema })

export const assignmentSchema = z.object({
  success: z.literal(true),
  group_id: groupIdSchema.nullable().meta({ description: 'Current group; null for none.' }),
  hardware_id: hardwareIdSchema,
  previous_group_id: groupIdSchema.nullable().meta({ description: 'Previous group; null for none.' }),
})
