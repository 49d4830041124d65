import { z } from 'zod'
import { isoSchema } from './params.ts'

export const roleSchema = z.enum(['user', 'admin'])
export type Role = z.infer<typeof roleSchema>

export const userSchema = z.object({
  user_id: z.string(),
  name: z.string(),
  email: z.string().nullable(),
  role: roleSchema,
  is_active: z.boolean(),
  allowed_hardware_ids: z.array(z.string()).nullable(),
  created_at: isoSchema,
  updated_at: isoSchema,
  usage: z.object({
    total_requests: z.number().int(),
    requests_today: z.number().int(),
    last_reset: isoSchema,
    first_used_at: isoSchema.optional(),
    last_used_at: isoSchema.optional(),
  }),
})

export type UserJson = z.infer<typeof userSchema>

const nameSchema = z.string().trim().min(1).max(200)
const emailSchema = z
  .string()
  .max(320)
  .regex(/^[^@\s]+@[^@\s]+$/, 'must be an e-mail address')
const allowedSchema = z
  .array(z.string().min(1).max(64))
  .transform((ids) => [...new Set(ids)])
  .refine((ids) => ids.length <= 5000, 'must name at most 5000 devices')

export const newUserSchema = z.strictObject({
  name: nameSchema,
  email: emailSchema.nullable().optional(),
  role: roleSchema.default('user'),
  allowed_hardware_ids: allowedSchema.nullable().default(null),
})

/** RFC 7396: absent is unchanged; null clears `email` and `allowed_hardware_ids` and is refused elsewhere. */
export const userPatchSchema = z.strictObject({
  name: nameSchema.optional(),
  email: emailSchema.nullable().optional(),
  role: roleSchema.optional(),
  is_active: z.boolean().optional(),
  allowed_hardware_ids: allowedSchema.nullable().optional(),
})

export const issuedKeySchema = z.object({ user: userSchema, api_key: z.string(), warning: z.string() })
export const rotatedKeySchema = z.object({
  success: z.literal(true),
  api_key: z.string(),
  warning: z.string(),
})
export const deletedUserSchema = z.object({ success: z.literal(true), deleted: z.string() })
