import { z } from 'zod'
import {
  atMost,
  newFeatureSchema,
  newZonePropertiesSchema,
  SHOWN_PROPERTIES,
  shownFeatureSchema,
  shownZonePropertiesSchema,
} from './geofences.ts'
import { groupIdSchema } from './groups.ts'
import { isoSchema, wholeNumber } from './params.ts'

const SITE_ZONES_MAX = 500
const GROUPS_MAX = 1000

const GROUPS =
  'The groups it counts for; without it, every device. Events and rules of the others do not know the zone.'

/** The zones of the site as they are sent. Members it does not name are ignored and not kept. Source: RFC 7946. */
export const newZonesSchema = z
  .object({
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
  .meta({ id: 'NewZones' })
export type NewZones = z.infer<typeof newZonesSchema>

const zoneVersionSchema = z
  .number()
  .int()
  .meta({ description: 'Grows with every change; 0 while there never were any.', example: 7 })

/** The zones of the site as they are answered: checked, with every default filled in. */
export const zonesSchema = z
  .object({
    type: z.literal('FeatureCollection'),
    version: zoneVersionSchema,
    features: z.array(
      shownFeatureSchema(
        shownZonePropertiesSchema
          .extend({
            groups: z
              .array(groupIdSchema)
              .optional()
              .meta({ description: GROUPS, example: [42] }),
          })
          .meta(SHOWN_PROPERTIES),
      ),
    ),
  })
  .meta({ id: 'Zones' })
export type ZonesJson = z.infer<typeof zonesSchema>
export type SiteFeatureJson = ZonesJson['features'][number]

/** What a head office has of them: the body of the entity `zone_set`. */
export const zoneSetBodySchema = z.object({
  version: z.number().int().min(0),
  zones: zonesSchema.shape.features,
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
  code: z.enum(['simplified', 'group_gone']).meta({
    description:
      'simplified: zones of a group had to lose corners, by 5 m or more. group_gone: a zone names a group that was deleted, and does not count there.',
  }),
  group_id: groupIdSchema,
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
