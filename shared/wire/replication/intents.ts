import { z } from 'zod'
import { newCommandSchema } from '../commands.ts'
import { newGeofencesSchema } from '../geofences.ts'
import { groupIdSchema } from '../groups.ts'
import { jsonObjectSchema } from '../schema/json-object.ts'
import { auditKindSchema } from './sync.ts'

const idSchema = z.string().min(1).max(64)
const hardwareIdSchema = idSchema.meta({ description: 'Device of the site.', example: 'cart-07' })
const layerSchema = jsonObjectSchema.meta({
  description: 'Configuration layer; replaces the existing one. Keys with null are omitted; at most 8 KiB.',
  example: { realtime_enabled: false },
})

/** `config.set`: like `PUT /devices/:id/config`, or `PUT /groups/:groupId/config/:type`. */
export const configSetSchema = z.union(
  [
    z.strictObject({ hardware_id: hardwareIdSchema, config: layerSchema }),
    z.strictObject({
      group_id: groupIdSchema,
      device_type: idSchema.meta({ description: 'Device type of the layer.', example: 'teebox' }),
      config: layerSchema,
    }),
  ],
  { error: 'must be hardware_id and config, or group_id, device_type and config' },
)

/** `geofence.put`: like `PUT /groups/:groupId/geofences`. */
export const geofencePutSchema = z.strictObject({ group_id: groupIdSchema, geofences: newGeofencesSchema })

/** `command.send`: like `POST /devices/:id/commands`. */
export const commandSendSchema = z.strictObject({
  hardware_id: hardwareIdSchema,
  command: newCommandSchema.shape.command,
  params: newCommandSchema.shape.params,
  metadata: newCommandSchema.shape.metadata,
  ttl_s: newCommandSchema.shape.ttl_seconds,
  force: newCommandSchema.shape.force,
})

/** `user.disable`: like `PATCH /users/:id` with `is_active` false. */
export const userDisableSchema = z.strictObject({
  user_id: idSchema.meta({ description: 'User of the gateway.' }),
})

/** `resend`: data to compare again immediately; everything if nothing is named. */
export const resendSchema = z.strictObject({
  kind: auditKindSchema.optional().meta({ description: 'Limits the comparison to this kind; default: all kinds.' }),
  day: z.iso
    .date()
    .optional()
    .meta({ description: 'Limits the comparison to this day, UTC; default: all days.', example: '2026-05-01' }),
})
