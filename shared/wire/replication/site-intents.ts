import { z } from 'zod'
import { choiceParam, isoSchema, listQuery, newestPageQuerySchema, paginationSchema } from '../schema/params.ts'
import { siteParams } from '../sites.ts'
import { commandSendSchema, configSetSchema, geofencePutSchema, resendSchema, userDisableSchema } from './intents.ts'
import { INTENT_KINDS, intentKindSchema } from './sync.ts'

const DAY_S = 86_400
const EXPIRES_MAX_S = 90 * DAY_S

/** Default validity of an intent in seconds: lock and unlock must never run late. */
export const INTENT_EXPIRES_S = {
  'command.send': 120,
  'config.set': 7 * DAY_S,
  'geofence.put': 7 * DAY_S,
  'user.disable': 30 * DAY_S,
  resend: 7 * DAY_S,
} as const

const common = {
  expires_in_s: z.number().int().min(1).max(EXPIRES_MAX_S).optional().meta({
    description: 'Validity in seconds; default: 120 for commands, days for all others.',
    example: 120,
  }),
  base_rev: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .meta({
      description:
        'Revision that the intent is based on (GET /sites/{site}/revisions): if the site has changed the object ' +
        'since, the intent is superseded.',
    }),
}

function intentOf<Kind extends (typeof INTENT_KINDS)[number], Body extends z.ZodType>(kind: Kind, body: Body) {
  return z.strictObject({ kind: z.literal(kind), body, ...common })
}

/** Intents that the hub can create for a site. */
export const newSiteIntentSchema = z
  .discriminatedUnion('kind', [
    intentOf('config.set', configSetSchema).meta({
      description:
        'Sets a configuration like PUT /devices/{id}/config or PUT /groups/{groupId}/config/{type} of the gateway.',
    }),
    intentOf('geofence.put', geofencePutSchema).meta({
      description: 'Sets zones like PUT /groups/{groupId}/geofences of the gateway.',
    }),
    intentOf('command.send', commandSendSchema).meta({
      description: 'Sends a command like POST /devices/{id}/commands of the gateway.',
    }),
    intentOf('user.disable', userDisableSchema).meta({
      description: 'Disables a user of the gateway, whose key is then rejected.',
    }),
    intentOf('resend', resendSchema).meta({
      description: 'Compares the data of hub and gateway immediately, and sends the missing data to the hub.',
    }),
  ])
  .meta({
    id: 'NewSiteIntent',
    example: { kind: 'command.send', body: { hardware_id: 'cart-07', command: 'lock' } },
  })

/** States of an intent; all except the first are final. */
const SITE_INTENT_STATUSES = ['pending', 'applied', 'rejected', 'expired', 'superseded', 'withdrawn'] as const
const statusSchema = z.enum(SITE_INTENT_STATUSES)
export type SiteIntentStatus = z.infer<typeof statusSchema>

export const siteIntentSchema = z
  .object({
    intent_id: z.string().meta({ description: 'Id of the intent.', example: '6c0a4f2e-6f5d-4a54-8b0e-0d8f3f0a9f11' }),
    site_id: z.string().meta({ description: 'Site of the intent.', example: 'north' }),
    kind: intentKindSchema,
    body: z.record(z.string(), z.unknown()).meta({ description: 'Body as given.' }),
    base_rev: z.string().nullable().meta({ description: 'Base revision as given; null for none.' }),
    status: statusSchema.meta({
      description: 'Status of the intent. pending: the gateway has not reported the outcome yet. All others are final.',
    }),
    reason: z.string().nullable().meta({ description: 'Readable reason for which it was not applied.' }),
    is_fetched: z.boolean().meta({
      description: 'True if it was sent to the gateway; it cannot be withdrawn any more.',
    }),
    requested_by: z.string().meta({ description: 'user_id of its author.' }),
    issued_at: isoSchema,
    expires_at: isoSchema.meta({ description: 'Time after which the gateway does not apply it.' }),
    finished_at: isoSchema.nullable().meta({ description: 'Time at which the outcome was known.' }),
  })
  .meta({ id: 'SiteIntent' })
export type SiteIntentJson = z.infer<typeof siteIntentSchema>

export const siteIntentParams = siteParams.extend({ id: z.string().meta({ description: 'intent_id' }) })
export const siteIntentListQuerySchema = newestPageQuerySchema.extend({
  status: choiceParam(SITE_INTENT_STATUSES, 'invalid_status').optional().meta({ description: 'Filter by status.' }),
  kind: choiceParam(INTENT_KINDS, 'invalid_parameter').optional().meta({ description: 'Filter by kind.' }),
})
export const siteIntentListSchema = z.object({
  intents: z.array(siteIntentSchema).meta({ description: 'Intents, newest first.' }),
  pagination: paginationSchema,
})

const siteRevisionSchema = z.object({
  kind: intentKindSchema.meta({ description: 'Kind of intent that changes the object.' }),
  hardware_id: z.string().optional().meta({ description: 'Device of the object.', example: 'cart-07' }),
  group_id: z.number().int().optional().meta({ description: 'Group of the object.', example: 42 }),
  device_type: z.string().optional().meta({ description: 'Device type within the group.', example: 'teebox' }),
  user_id: z.string().optional().meta({ description: 'User of the gateway.' }),
  rev: z.string().meta({ description: 'Revision, as required for base_rev.', example: '9f86d081884c7d65' }),
})
export type SiteRevision = z.infer<typeof siteRevisionSchema>

export const siteRevisionsQuerySchema = listQuery('asc', 'Order by kind and id: asc or desc.')

export const siteRevisionsSchema = z
  .object({
    revisions: z.array(siteRevisionSchema).meta({ description: 'Revisions of all existing objects.' }),
    none: z.string().meta({
      description: 'Revision of every object that is not in the list.',
      example: '74234e98afe7498f',
    }),
  })
  .meta({ id: 'SiteRevisions' })
