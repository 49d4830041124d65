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
  'Groups to which the zone applies; default: every device. Events and rules of other groups ignore the zone.'

/** Complete zones of the site in the form of requests. */
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

/** Zones of the site as sent. Unlisted members are ignored and not stored. Source: RFC 7946. */
export const newZonesSchema = z
  .preprocess((given) => completeZones(given).zones, siteZonesSchema)
  .meta({ id: 'NewZones' })
export type NewZones = z.infer<typeof newZonesSchema>

const zoneVersionSchema = z.number().int().meta({
  description: 'Version of the zones, which increases with every change; 0 if there never were any.',
  example: 7,
})

const sitePropertiesSchema = shownZonePropertiesSchema.extend({
  groups: z
    .array(groupIdSchema)
    .optional()
    .meta({ description: GROUPS, example: [42] }),
})
const siteFeatureSchema = shownFeatureSchema(sitePropertiesSchema)
/** Zone of the site as stored. */
export type SiteFeatureJson = z.infer<typeof siteFeatureSchema>

const switchedBySchema = z.object({ user_id: z.string(), name: z.string() })

/** Zones of the site as returned: validated, with all defaults filled in. */
export const zonesSchema = z
  .object({
    type: z.literal('FeatureCollection'),
    version: zoneVersionSchema,
    features: z.array(
      shownFeatureSchema(
        sitePropertiesSchema
          .extend({
            enabled: z.boolean().meta({ description: 'State in effect, including a temporary override.' }),
            switched: z
              .object({
                until: isoSchema
                  .nullable()
                  .meta({ description: 'End of the override; null if it lasts until it is changed.' }),
                by: switchedBySchema.meta({ description: 'User who set it.' }),
              })
              .nullable()
              .meta({ description: 'Temporary override that enables or disables the zone.' }),
            enabled_before: z.boolean().optional().meta({
              description: 'State before the override, and after its end; only with an override.',
            }),
            switched_at: isoSchema.optional().meta({
              description: 'Start of the override; only with an override.',
            }),
          })
          .meta(SHOWN_PROPERTIES),
      ),
    ),
  })
  .meta({ id: 'Zones' })
export type ZonesJson = z.infer<typeof zonesSchema>

/** Temporary overrides by zone id. */
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

/** Zones as replicated to the hub: the body of the entity `zone_set`. */
export const zoneSetBodySchema = z.object({
  version: z.number().int().min(0),
  zones: z.array(siteFeatureSchema),
  // older gateways do not send overrides
  switches: zoneSwitchesSchema.default({}),
})

const publishedZonesSchema = z.object({
  group_id: groupIdSchema,
  topic: z.string().meta({ description: 'Topic with the retained message for teeboxes.', example: 'sit/42/sz' }),
  ok: z.boolean().meta({ description: 'Always true: stored together with the zones.' }),
  simplified_m: z.number().meta({
    description: 'Maximum deviation of a zone edge in metres. 0 if no corner was omitted to fit into 16 KiB.',
    example: 0,
  }),
  bytes: z.number().int().meta({ description: 'Size of the message in bytes.', example: 4096 }),
})

const zonesWarningSchema = z.object({
  code: z.enum(['simplified', 'group_gone', 'filled_in', 'unwrapped']).meta({
    description:
      'Kind of warning. filled_in: a type or a name was missing. unwrapped: the body or a geometry had an ' +
      'alternative form. simplified: zones of a group lost corners, with a deviation of 5 m or more. group_gone: a ' +
      'zone names a deleted group, to which it does not apply.',
  }),
  group_id: groupIdSchema.nullable().meta({ description: 'Group concerned; null for none.' }),
  zone_id: z.string().nullable().meta({ description: 'Zone concerned; null for all zones of the group.' }),
  detail: z.string().meta({ description: 'Readable explanation.' }),
})
export type ZonesWarningJson = z.infer<typeof zonesWarningSchema>

export const changedZonesSchema = z
  .object({
    success: z.literal(true),
    version: zoneVersionSchema,
    count: z.number().int().meta({ description: 'Number of zones.', example: 3 }),
    published: z.array(publishedZonesSchema).meta({ description: 'Publications per group, by group_id.' }),
    warnings: z.array(zonesWarningSchema),
  })
  .meta({ id: 'ChangedZones' })
export type ChangedZonesJson = z.infer<typeof changedZonesSchema>

const SELECTIONS = ['zone_ids', 'types', 'holes'] as const

/** Zones to enable or disable temporarily. */
export const zoneSwitchSchema = z
  .strictObject({
    zone_ids: z
      .array(z.string().min(1).max(64))
      .min(1)
      .max(SITE_ZONES_MAX)
      .optional()
      .meta({ description: 'Ids of the zones.', example: ['cart-path-3'] }),
    types: z.array(zoneTypeSchema).min(1).max(ZONE_TYPES.length).optional(),
    holes: z
      .array(z.number().int().min(1).max(99))
      .min(1)
      .max(99)
      .optional()
      .meta({
        description: 'Numbers of holes: selects zones of any type except hole with one of these numbers.',
        example: [3, 7],
      }),
    enabled: z.boolean().meta({ description: 'True enables the zones, false disables them.' }),
    until: dateParam
      .nullable()
      .optional()
      .meta({
        description:
          'End of the override; null if it lasts until it is changed. Default: the next closing time, or else the ' +
          'end of the day.',
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
    switched: z.array(z.string()).meta({ description: 'Ids of the changed zones.', example: ['fairway-3'] }),
    until: isoSchema.nullable().meta({ description: 'End of the override.' }),
  })
  .meta({ id: 'SwitchedZones' })

/** Carts that have received the zones. */
export const appliedZonesSchema = z
  .object({
    version: zoneVersionSchema,
    applied: z.array(z.string()).meta({
      description: 'Number of carts whose teeboxes all have the zones.',
      example: ['7'],
    }),
    waiting: z
      .array(z.string())
      .meta({ description: 'Carts with a teebox that has not reported the zones yet.', example: ['12'] }),
  })
  .meta({ id: 'AppliedZones' })

export const keptZonesQuerySchema = listQuery('desc', 'Order by version: desc is newest first.')

/** Earlier set of zones. */
export const keptZonesSchema = z
  .object({
    version: zoneVersionSchema,
    at: isoSchema.meta({ description: 'Time of its creation. ISO 8601, UTC, milliseconds.' }),
    by: z.object({ user_id: z.string(), name: z.string() }).meta({ description: 'User who created it.' }),
    count: z.number().int().meta({ description: 'Number of zones in it.', example: 3 }),
  })
  .meta({ id: 'KeptZones' })
export type KeptZonesJson = z.infer<typeof keptZonesSchema>

export const zoneVersionParams = z.object({
  version: wholeNumber(0, Number.MAX_SAFE_INTEGER).meta({
    description: 'Version of a kept set.',
    example: 7,
  }),
})

/** Version of the zones that a change is based on. */
export const ifMatchHeaders = z.object({
  'if-match': z.string().optional().meta({
    description: 'ETag of the zones to change, or *; 412 if they have changed since.',
    example: '"7-1f0c8d5e2a9b4c76"',
  }),
})
