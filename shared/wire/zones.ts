import { z } from 'zod'
import { completeZones } from '#shared/zones/complete.ts'
import { SITE_ZONES_MAX, ZONE_TYPES } from '#shared/zones/zone.ts'
import {
  atMost,
  newFeatureSchema,
  newZonePropertiesSchema,
  SHOWN_PROPERTIES,
  shownFeatureSchema,
  shownZonePropertiesSchema,
  zoneTypeSchema,
} from './geofences.ts'
import { groupIdSchema } from './groups.ts'
import { dateParam, isoSchema, listQuery, wholeNumber } from './schema/params.ts'

const GROUPS_MAX = 1000

const GROUPS =
  'The groups it counts for; without it, every device. Events and rules of the others do not know the zone.'

/** Zones of the site in the form of requests, complete. */
export const siteZonesSchema = z.object({
  type: z.literal('FeatureCollection'),
  features: atMost(
    SITE_ZONES_MAX,
    'too_many_zones',
    `the site has at most ${SITE_ZONES_MAX} zones`,
    z.array(
      newFeatureSchema(
        newZonePropertiesSchema.extend({
          groups: z
            .array(groupIdSchema)
            .min(1)
            .max(GROUPS_MAX)
            .nullish()
            .meta({ description: GROUPS, example: [42] }),
        }),
      ),
    ),
  ),
})

/** The zones of the site as they are sent. Members it does not name are ignored and not kept. Source: RFC 7946. */
export const newZonesSchema = z
  .preprocess((given) => completeZones(given).zones, siteZonesSchema)
  .meta({ id: 'NewZones' })
export type NewZones = z.infer<typeof newZonesSchema>

const zoneVersionSchema = z
  .number()
  .int()
  .meta({ description: 'Grows with every change; 0 while there never were any.', example: 7 })

const sitePropertiesSchema = shownZonePropertiesSchema.extend({
  groups: z
    .array(groupIdSchema)
    .optional()
    .meta({ description: GROUPS, example: [42] }),
})
const siteFeatureSchema = shownFeatureSchema(sitePropertiesSchema)
/** A zone of the site as it is kept. */
export type SiteFeatureJson = z.infer<typeof siteFeatureSchema>

const switchedBySchema = z.object({ user_id: z.string(), name: z.string() })

/** The zones of the site as they are answered: checked, with every default filled in. */
export const zonesSchema = z
  .object({
    type: z.literal('FeatureCollection'),
    version: zoneVersionSchema,
    features: z.array(
      shownFeatureSchema(
        sitePropertiesSchema
          .extend({
            enabled: z.boolean().meta({ description: 'As it holds now, switched or not.' }),
            switched: z
              .object({
                until: isoSchema
                  .nullable()
                  .meta({ description: 'When that undoes itself; null for when it is switched again.' }),
                by: switchedBySchema.meta({ description: 'Who switched it.' }),
              })
              .nullable()
              .meta({ description: 'That it is on or off for a while.' }),
            enabled_before: z.boolean().optional().meta({
              description: 'Of a switched zone: whether it was enabled before, and will be.',
            }),
            switched_at: isoSchema.optional().meta({
              description: 'Of a switched zone: since when it has been on, or off.',
            }),
          })
          .meta(SHOWN_PROPERTIES),
      ),
    ),
  })
  .meta({ id: 'Zones' })
export type ZonesJson = z.infer<typeof zonesSchema>

/** What of the zones is for a while, by the id of the zone. */
const zoneSwitchesSchema = z.record(
  z.string(),
  z.object({
    was_enabled: z.boolean(),
    since_ms: z.number(),
    until_ms: z.number().nullable(),
    by: switchedBySchema,
  }),
)
export type ZoneSwitchesBody = z.infer<typeof zoneSwitchesSchema>

/** What a head office has of them: the body of the entity `zone_set`. */
export const zoneSetBodySchema = z.object({
  version: z.number().int().min(0),
  zones: z.array(siteFeatureSchema),
  // gateways of before the switches send none
  switches: zoneSwitchesSchema.default({}),
})

const publishedZonesSchema = z.object({
  group_id: groupIdSchema,
  topic: z.string().meta({ description: 'Retained there for teeboxes.', example: 'sit/42/sz' }),
  ok: z.boolean().meta({ description: 'Stored together with the zones.' }),
  simplified_m: z.number().meta({
    description:
      'Metres: no edge of a zone is farther from where it was drawn. 0 when no corner was left out to fit into 16 KiB.',
    example: 0,
  }),
  bytes: z.number().int().meta({ description: 'Of the message.', example: 4096 }),
})

const zonesWarningSchema = z.object({
  code: z.enum(['simplified', 'group_gone', 'filled_in', 'unwrapped']).meta({
    description:
      'filled_in: a type or a name was left out. unwrapped: the form of the body or of a geometry stands for ' +
      'another. simplified: zones of a group had to lose corners, by 5 m or more. group_gone: a zone names a ' +
      'group that was deleted, and does not count there.',
  }),
  group_id: groupIdSchema.nullable().meta({ description: 'Null where it is about no group.' }),
  zone_id: z.string().nullable().meta({ description: 'Null where it is about all zones of the group.' }),
  detail: z.string().meta({ description: 'For people.' }),
})
export type ZonesWarningJson = z.infer<typeof zonesWarningSchema>

/** The answer to a change of the zones of the site. */
export const changedZonesSchema = z
  .object({
    success: z.literal(true),
    version: zoneVersionSchema,
    count: z.number().int().meta({ description: 'Zones there are now.', example: 3 }),
    published: z.array(publishedZonesSchema).meta({ description: 'Of each group, by group_id.' }),
    warnings: z.array(zonesWarningSchema),
  })
  .meta({ id: 'ChangedZones' })
export type ChangedZonesJson = z.infer<typeof changedZonesSchema>

const SELECTIONS = ['zone_ids', 'types', 'holes'] as const

/** Which zones are switched on or off. */
export const zoneSwitchSchema = z
  .strictObject({
    zone_ids: z
      .array(z.string().min(1).max(64))
      .min(1)
      .max(SITE_ZONES_MAX)
      .optional()
      .meta({ description: 'These zones.', example: ['cart-path-3'] }),
    types: z.array(zoneTypeSchema).min(1).max(ZONE_TYPES.length).optional(),
    holes: z
      .array(z.number().int().min(1).max(99))
      .min(1)
      .max(99)
      .optional()
      .meta({ description: 'Zones of any type but hole with one of these numbers.', example: [3, 7] }),
    enabled: z.boolean().meta({ description: 'true switches them on, false off.' }),
    until: dateParam
      .nullable()
      .optional()
      .meta({
        description:
          'Until then; null for until they are switched again; the next closing time, or else the end of the day, ' +
          'unless told.',
      }),
  })
  .superRefine((request, ctx) => {
    if (SELECTIONS.filter((name) => request[name] !== undefined).length === 1) return
    ctx.addIssue({ code: 'custom', message: `must have exactly one of ${SELECTIONS.join(', ')}` })
  })
  .meta({ id: 'ZoneSwitch' })

export const switchedZonesSchema = z
  .object({
    version: zoneVersionSchema,
    switched: z.array(z.string()).meta({ description: 'Ids of these zones.', example: ['fairway-3'] }),
    until: isoSchema.nullable().meta({ description: 'When that undoes itself.' }),
  })
  .meta({ id: 'SwitchedZones' })

/** Which carts have the zones. */
export const appliedZonesSchema = z
  .object({
    version: zoneVersionSchema,
    applied: z.array(z.string()).meta({ description: 'Carts whose teeboxes all have them.', example: ['7'] }),
    waiting: z
      .array(z.string())
      .meta({ description: 'Carts with a teebox that has not said so yet.', example: ['12'] }),
  })
  .meta({ id: 'AppliedZones' })

export const keptZonesQuerySchema = listQuery('desc', 'By version: desc is newest first.')

/** A set of zones that is kept. */
export const keptZonesSchema = z
  .object({
    version: zoneVersionSchema,
    at: isoSchema.meta({ description: 'When it was made. ISO 8601, UTC, milliseconds.' }),
    by: z.object({ user_id: z.string(), name: z.string() }).meta({ description: 'Who made it.' }),
    count: z.number().int().meta({ description: 'Zones in it.', example: 3 }),
  })
  .meta({ id: 'KeptZones' })
export type KeptZonesJson = z.infer<typeof keptZonesSchema>

export const zoneVersionParams = z.object({
  version: wholeNumber(0, Number.MAX_SAFE_INTEGER).meta({
    description: 'Of a set that is kept.',
    example: 7,
  }),
})

/** The version of the zones that a change is made to. */
export const ifMatchHeaders = z.object({
  'if-match': z.string().optional().meta({
    description: 'The ETag of the zones that are changed, or *: 412 when they are others now.',
    example: '"7-1f0c8d5e2a9b4c76"',
  }),
})
