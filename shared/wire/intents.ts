import { z } from 'zod'
import { newCommandSchema } from './commands.ts'
import { newGeofencesSchema } from './geofences.ts'
import { groupIdSchema } from './groups.ts'
import { jsonObjectSchema } from './json-object.ts'
import { auditKindSchema } from './sync.ts'

const idSchema = z.string().min(1).max(64)

/** `config.set`: as `PUT /devices/:id/config`, or `PUT /groups/:groupId/config/:type`. */
export const configSetSchema = z.union(
  [
    z.strictObject({ hardware_id: idSchema, config: jsonObjectSchema }),
    z.strictObject({ group_id: groupIdSchema, device_type: idSchema, config: jsonObjectSchema }),
  ],
  { error: 'must be hardware_id and config, or group_id, device_type and config' },
)

/** `geofence.put`: as `PUT /groups/:groupId/geofences`. */
export const geofencePutSchema = z.strictObject({ group_id: groupIdSchema, geofences: newGeofencesSchema })

/** `command.send`: as `POST /devices/:id/commands`. */
export const commandSendSchema = z.strictObject({
  hardware_id: idSchema,
  command: newCommandSchema.shape.command,
  params: newCommandSchema.shape.params,
  metadata: newCommandSchema.shape.metadata,
  ttl_s: newCommandSchema.shape.ttl_seconds,
})

/** `user.disable`: as `PATCH /users/:id` with `is_active` false. */
export const userDisableSchema = z.strictObject({ user_id: idSchema })

/** `resend`: what is to be compared again at once; all of it where nothing is named. */
export const resendSchema = z.strictObject({
  kind: auditKindSchema.optional(),
  /** A day in UTC, as 2026-05-01. */
  day: z.iso.date().optional(),
})
