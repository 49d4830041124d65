import { z } from 'zod'
import { isoSchema } from './schema/params.ts'
import { activationSchema, isActiveSchema, maskCodesSchema, newKeyFields, userNameSchema } from './users.ts'

/**
 * Roles of the head office: a viewer reads its sites, an operator also makes intents there, an admin does everything.
 */
const HUB_ROLES = ['viewer', 'operator', 'admin'] as const
const hubRoleSchema = z.enum(HUB_ROLES).meta({
  description: 'viewer reads its sites, operator also makes intents there, admin does everything everywhere.',
  example: 'viewer',
})
export type HubRole = z.infer<typeof hubRoleSchema>

const SITES_MAX = 5000

const nameSchema = userNameSchema.meta({ description: 'For people.', example: 'Jane' })

// not a union with the schema of site ids: the errors of very many wrong ones took twice as long
const siteIdsSchema = z
  .array(z.string().regex(/^(\*|[a-z0-9-]{1,32})$/, 'must be 1 to 32 lower-case letters, digits and hyphens'))
  .transform((ids) => [...new Set(ids)])
  .refine((ids) => ids.length <= SITES_MAX, `must name at most ${SITES_MAX} sites`)
  .refine((ids) => ids.length === 1 || !ids.includes('*'), 'must be * alone, or name sites')
  .transform((ids) => (ids.includes('*') ? null : ids))
  .nullable()
  .meta({
    description:
      'The sites it may see, also such as do not exist yet; null, or * alone, is all of them, now and later. ' +
      'Means nothing for an admin.',
    example: ['north'],
  })

export const hubUserSchema = z
  .object({
    user_id: z.string().meta({ description: 'Made up here.', example: '6c0a4f2e-6f5d-4a54-8b0e-0d8f3f0a9f11' }),
    name: z.string().meta({ description: 'For people.', example: 'Jane' }),
    role: hubRoleSchema,
    site_ids: z
      .array(z.string())
      .nullable()
      .meta({
        description: 'The sites it may see; null is all of them. Means nothing for an admin.',
        example: ['north'],
      }),
    is_active: isActiveSchema,
    mask_codes: maskCodesSchema,
    created_at: isoSchema,
  })
  .meta({ id: 'HubUser' })
export type HubUserJson = z.infer<typeof hubUserSchema>

export const newHubUserSchema = z
  .strictObject({
    name: nameSchema,
    role: hubRoleSchema.default('viewer'),
    site_ids: siteIdsSchema.default([]),
    mask_codes: maskCodesSchema.default(false),
  })
  .meta({ id: 'NewHubUser' })

/** RFC 7396: absent is unchanged; null as `site_ids` is all sites. */
export const hubUserPatchSchema = z
  .strictObject({
    name: nameSchema.optional(),
    role: hubRoleSchema.optional(),
    site_ids: siteIdsSchema.optional(),
    is_active: activationSchema,
    mask_codes: maskCodesSchema.optional(),
  })
  .meta({ id: 'HubUserPatch', description: 'What is left out stays as it is.' })

const newKey = newKeyFields('cbh_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG')
export const issuedHubKeySchema = z.object({ user: hubUserSchema, ...newKey }).meta({ id: 'IssuedHubKey' })
export const rotatedHubKeySchema = z.object({ success: z.literal(true), ...newKey }).meta({ id: 'RotatedHubKey' })
