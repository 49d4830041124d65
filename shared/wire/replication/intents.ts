import { z } from 'zod'
import { newCommandSchema } from '../commands.ts'
import { newGeofencesSchema } from '../geofences.ts'
import { groupIdSchema } from '../groups.ts'
import { jsonObjectSchema } from '../schema/json-object.ts'
import { auditKindSchema } from './sync.ts'

const idSchema = z.string().min(1).max(64)
const hardwareIdSchema = idSchema.meta({ description: 'A device of the site.', example: 'cart-07' })
const layerSchema = jsonObjectSchema.meta({
  description: 'Replaces the layer; a key that is null is left out; at most 8 KiB.',
  example: { realtime_enabled: false },
})

/** `config.set`: as `PUT /devices/:id/config`, or `PUT /groups/:groupId/config/:type`. */
export const configSetSchema = z.union(
  [
    z.strictObject({ hardware_id: hardwareIdSchema, config: layerSchema }),
    z.strictObject({
      group_id: groupIdSchema,
      device_type: idSchema.meta({ description: 'The type it is for.', example: 'teebox' }),
      config: layerSchema,
    }),
  ],
  { error: 'must be hardware_id and config, or group_id, device_type and config' },
)

/** `geofence.put`: as `PUT /groups/:groupId/geofences`. */
export const geofencePutSchema = z.strictObject({ group_id: groupIdSchema, geofences: newGeofencesSchema })

/** `command.send`: as `POST /devices/:id/commands`. */
export const commandSendSchema = z.strictObject({
  hardware_id: hardwareIdSchema,
  command: newCommandSchema.shape.command,
  params: newCommandSchema.shape.params,
  metadata: newCommandSchema.shape.metadata,
  ttl_s: newCommandSchema.shape.ttl_seconds,
  force: newCommandSchema.shape.force,
})

/** `user.disable`: as `PATCH /users/:id` with `is_active` false. */
export const userDisableSchema = z.strictObject({
  user_id: idSchema.meta({ description: 'A user of the gateway.' }),
})

/** `resend`: what is to be compared again at once; all of it where nothing is named. */
export const resendSchema = z.strictObject({
  kind: auditKindSchema.optional().meta({ description: 'Only this; all kinds without it.' }),
  day: z.iso
    .date()
    .optional()
    .meta({ description: 'Only this day, UTC; all of them without it.', example: '2026-05-01' }),
})
