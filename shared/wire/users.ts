import { z } from 'zod'
import { oneLine } from './schema/name.ts'
import { isoSchema } from './schema/params.ts'

export const roleSchema = z.enum(['user', 'staff', 'admin'])
export type Role = z.infer<typeof roleSchema>

/** Role of a user, or `metrics` for a program that may only read `GET /metrics`. */
export const userRoleSchema = z.enum([...roleSchema.options, 'metrics'])
export type UserRole = z.infer<typeof userRoleSchema>

const ROLE_MEANING =
  'Role. A user reads and commands the devices in its scope; staff also see groups, device types and commands of ' +
  'all; an admin may do everything, with every device. A key with the role metrics only reads GET /metrics.'

export const isActiveSchema = z.boolean().meta({ description: 'False if the user is disabled and its key rejected.' })

export const maskCodesSchema = z.boolean().meta({
  description:
    'Masks tag and keypad codes for the user: all characters except the last two are asterisks. Ignored for an ' +
    'admin, and for staff of a gateway.',
  example: false,
})

export const activationSchema = z
  .boolean()
  .optional()
  .meta({ description: 'False disables the user and its key until it is true again.' })

export const userSchema = z
  .object({
    user_id: z.string().meta({
      description: 'Id of the user, also its MQTT user name.',
      example: '6c0a4f2e-6f5d-4a54-8b0e-0d8f3f0a9f11',
    }),
    name: z.string().meta({ example: 'Starter tablet', description: 'Display name.' }),
    email: z.string().optional().meta({
      example: 'starter@club.example',
      description: 'E-mail address; absent without one.',
    }),
    role: userRoleSchema.meta({ description: ROLE_MEANING }),
    is_active: isActiveSchema,
    allowed_hardware_ids: z
      .array(z.string())
      .nullable()
      .meta({
        description:
          'Devices in scope; null and an empty list mean none, * means every device, now and later. Ignored for an ' +
          'admin; null for metrics.',
        example: ['cart-07', 'cart-08'],
      }),
    mask_codes: maskCodesSchema,
    has_pin: z.boolean().meta({ description: 'True if the user has a PIN for shared tablets.' }),
    created_at: isoSchema,
    updated_at: isoSchema,
    usage: z.object({
      total_requests: z.number().int().meta({ description: 'Number of requests since its creation.', example: 1834 }),
      requests_today: z.number().int().meta({ description: 'Number of requests since midnight, UTC.', example: 97 }),
      last_reset: isoSchema.meta({ description: 'Start of requests_today.' }),
      first_used_at: isoSchema.optional(),
      last_used_at: isoSchema.optional(),
    }),
  })
  .meta({ id: 'User' })

export type UserJson = z.infer<typeof userSchema>

/** Name of a user or a tablet in a request. */
export const userNameSchema = oneLine.min(1).meta({ description: 'Display name.', example: 'Starter tablet' })
const emailSchema = z
  .string()
  .trim()
  .max(320)
  .regex(/^([^@\s]+@[^@\s]+)?$/, 'must be an e-mail address')
  .transform((text) => text || null)
  .meta({ example: 'starter@club.example', description: 'E-mail address; null or an empty text means none.' })
const allowedSchema = z
  .array(z.string().min(1).max(64))
  .transform((ids) => [...new Set(ids)])
  .refine((ids) => ids.length <= 5000, 'must name at most 5000 devices')
  .refine((ids) => ids.length === 1 || !ids.includes('*'), 'must be * alone, or name devices')
  .meta({
    maxItems: 5000,
    description:
      'Devices in scope, including ones that do not exist yet; null for none, * alone for every device, now and ' +
      'later. Duplicates count once.',
    example: ['cart-07', 'cart-08'],
  })

export const newUserSchema = z
  .strictObject({
    name: userNameSchema,
    email: emailSchema.nullable().optional(),
    role: userRoleSchema.default('user').meta({ description: ROLE_MEANING }),
    allowed_hardware_ids: allowedSchema.nullable().default(null),
    mask_codes: maskCodesSchema.default(false),
  })
  .meta({ id: 'NewUser' })

/** RFC 7396: absent is unchanged; null clears `email` and `allowed_hardware_ids` and is rejected elsewhere. */
export const userPatchSchema = z
  .strictObject({
    name: userNameSchema.optional(),
    email: emailSchema.nullable().optional(),
    role: userRoleSchema.optional().meta({ description: ROLE_MEANING }),
    is_active: activationSchema,
    allowed_hardware_ids: allowedSchema.nullable().optional(),
    mask_codes: maskCodesSchema.optional(),
  })
  .meta({ id: 'UserPatch', description: 'Patch of a user; absent fields stay unchanged.' })

export const KEY_WARNING = 'Keep this key: it is not stored and cannot be shown again.'
export const keyWarningSchema = z.string().meta({ description: 'Reminder to keep the key.', example: KEY_WARNING })

/** Fields of a response with a new API key; `example` is a key. */
export function newKeyFields(example: string) {
  const apiKeySchema = z.string().meta({
    description: 'API key; shown only in this response, stored as a hash.',
    example,
  })
  return { api_key: apiKeySchema, warning: keyWarningSchema }
}

const newKey = newKeyFields('flt_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG')
export const issuedKeySchema = z.object({ user: userSchema, ...newKey }).meta({ id: 'IssuedKey' })
export const rotatedKeySchema = z.object({ success: z.literal(true), ...newKey }).meta({ id: 'RotatedKey' })
export const deletedUserSchema = z.object({
  success: z.literal(true),
  deleted: z.string().meta({ description: 'user_id' }),
})
