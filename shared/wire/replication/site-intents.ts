import { z } from 'zod'
import { choiceParam, isoSchema, listQuery, newestPageQuerySchema, paginationSchema } from '../schema/params.ts'
import { siteParams } from '../sites.ts'
import { commandSendSchema, configSetSchema, geofencePutSchema, resendSchema, userDisableSchema } from './intents.ts'
import { INTENT_KINDS, intentKindSchema } from './sync.ts'

const DAY_S = 86_400
const EXPIRES_MAX_S = 90 * DAY_S

/** Seconds an intent is valid unless it says otherwise: lock and unlock must never run late. */
export const INTENT_EXPIRES_S = {
  'command.send': 120,
  'config.set': 7 * DAY_S,
  'geofence.put': 7 * DAY_S,
  'user.disable': 30 * DAY_S,
  resend: 7 * DAY_S,
} as const

const common = {
  expires_in_s: z.number().int().min(1).max(EXPIRES_MAX_S).optional().meta({
    description: 'Seconds it is valid; by default 120 for commands, days for the rest.',
    example: 120,
  }),
  base_rev: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .meta({
      description:
        'The revision it is based on (GET /sites/{site}/revisions): if the site has changed it since, the intent ' +
        'is superseded.',
    }),
}

function intentOf<Kind extends (typeof INTENT_KINDS)[number], Body extends z.ZodType>(kind: Kind, body: Body) {
  return z.strictObject({ kind: z.literal(kind), body, ...common })
}

/** The intents the head office can make for a site. */
export const newSiteIntentSchema = z
  .discriminatedUnion('kind', [
    intentOf('config.set', configSetSchema).meta({
      description: 'As PUT /devices/{id}/config or PUT /groups/{groupId}/config/{type} of the gateway.',
    }),
    intentOf('geofence.put', geofencePutSchema).meta({
      description: 'As PUT /groups/{groupId}/geofences of the gateway.',
    }),
    intentOf('command.send', commandSendSchema).meta({
      description: 'As POST /devices/{id}/commands of the gateway.',
    }),
    intentOf('user.disable', userDisableSchema).meta({
      description: 'Disables a user of the gateway; the key is void then.',
    }),
    intentOf('resend', resendSchema).meta({
      description: 'Compares the data of hub and gateway at once, and sends what the hub lacks.',
    }),
  ])
  .meta({
    id: 'NewSiteIntent',
    example: { kind: 'command.send', body: { hardware_id: 'cart-07', command: 'lock' } },
  })

/** The life of an intent; all but the first are final. */
const SITE_INTENT_STATUSES = ['pending', 'applied', 'rejected', 'expired', 'superseded', 'withdrawn'] as const
const statusSchema = z.enum(SITE_INTENT_STATUSES)
export type SiteIntentStatus = z.infer<typeof statusSchema>

export const siteIntentSchema = z
  .object({
    intent_id: z.string().meta({ description: 'Unique.', example: '6c0a4f2e-6f5d-4a54-8b0e-0d8f3f0a9f11' }),
    site_id: z.string().meta({ description: 'The site it is for.', example: 'north' }),
    kind: intentKindSchema,
    body: z.record(z.string(), z.unknown()).meta({ description: 'As it was given.' }),
    base_rev: z.string().nullable().meta({ description: 'As it was given; null for none.' }),
    status: statusSchema.meta({
      description: 'pending: the gateway has not reported the outcome yet. The others are final.',
    }),
    reason: z.string().nullable().meta({ description: 'Why it was not applied, for people.' }),
    is_fetched: z.boolean().meta({ description: 'The gateway has asked for it; from then on it cannot be withdrawn.' }),
    requested_by: z.string().meta({ description: 'The user_id of its author.' }),
    issued_at: isoSchema,
    expires_at: isoSchema.meta({ description: 'The gateway does not perform it later than this.' }),
    finished_at: isoSchema.nullable().meta({ description: 'When its outcome was known.' }),
  })
  .meta({ id: 'SiteIntent' })
export type SiteIntentJson = z.infer<typeof siteIntentSchema>

export const siteIntentParams = siteParams.extend({ id: z.string().meta({ description: 'intent_id' }) })
export const siteIntentListQuerySchema = newestPageQuerySchema.extend({
  status: choiceParam(SITE_INTENT_STATUSES, 'invalid_status').optional().meta({ description: 'Only in this state.' }),
  kind: choiceParam(INTENT_KINDS, 'invalid_parameter').optional().meta({ description: 'Only of this kind.' }),
})
export const siteIntentListSchema = z.object({
  intents: z.array(siteIntentSchema).meta({ description: 'Newest first.' }),
  pagination: paginationSchema,
})

const siteRevisionSchema = z.object({
  kind: intentKindSchema.meta({ description: 'The kind of intent it is for.' }),
  hardware_id: z.string().optional().meta({ description: 'The device it is of.', example: 'cart-07' }),
  group_id: z.number().int().optional().meta({ description: 'The group it is of.', example: 42 }),
  device_type: z.string().optional().meta({ description: 'For which devices of the group.', example: 'teebox' }),
  user_id: z.string().optional().meta({ description: 'The user of the gateway it is.' }),
  rev: z.string().meta({ description: 'What to give as base_rev.', example: '9f86d081884c7d65' }),
})
export type SiteRevision = z.infer<typeof siteRevisionSchema>

export const siteRevisionsQuerySchema = listQuery('asc', 'By kind and id: asc or desc.')

export const siteRevisionsSchema = z
  .object({
    revisions: z.array(siteRevisionSchema).meta({ description: 'The revision of each object that exists.' }),
    none: z.string().meta({
      description: 'The revision of every object that is not in the list.',
      example: '74234e98afe7498f',
    }),
  })
  .meta({ id: 'SiteRevisions' })
