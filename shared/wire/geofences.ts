import { z } from 'zod'
import { MAX_GROUP_ID } from '#shared/ids.ts'
import { completeZones } from '#shared/zones/complete.ts'
import { ZONE_TYPES } from '#shared/zones/zone.ts'
import { groupIdSchema } from './groups.ts'
import { oneLine } from './schema/name.ts'
import { wholeNumber } from './schema/params.ts'

const ZONES_MAX = 100
export const ZONE_POINTS_MAX = 200

export const zoneTypeSchema = z.enum(ZONE_TYPES)

/** Longitude and latitude in degrees; further numbers (an altitude) are ignored. Source: RFC 7946, 3.1.1. */
const positionSchema = z
  .tuple([z.number(), z.number()], z.unknown())
  .meta({ description: 'Position as longitude, latitude.', example: [-81.58, 28.41] })

// Counted before the content is validated: a megabyte of invalid points would cause as many errors.
const ringSchema = atMost(
  ZONE_POINTS_MAX + 1,
  'too_many_points',
  `a zone has at most ${ZONE_POINTS_MAX} points, not counting the one that closes it`,
  z.array(positionSchema),
)

const polygonSchema = z.object({
  type: z.literal('Polygon'),
  coordinates: atMost(1, 'holes_not_supported', 'a zone has one ring and no holes', z.array(ringSchema).min(1)).meta({
    description: 'One ring; an open ring is closed automatically.',
  }),
})

const pointSchema = z.object({
  type: z.literal('Point'),
  coordinates: positionSchema.meta({ description: 'Centre of a circle of radius_m.' }),
})

const geometrySchema = z
  .preprocess(
    (value, ctx) => {
      const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined
      if (typeof type !== 'string' || type === 'Polygon' || type === 'Point') return value
      const message = `must be a Polygon, or a Point with radius_m: ${type} is neither`
      ctx.addIssue({ code: 'custom', path: ['type'], message, params: { code: 'unsupported_geometry' } })
      return z.NEVER
    },
    z.discriminatedUnion('type', [polygonSchema, pointSchema]),
  )
  .meta({ description: 'Polygon with one ring, or Point with radius_m.' })

// Map editors write null for properties that only other features have, so null equals absent.
export const newZonePropertiesSchema = z.object({
  name: oneLine
    .min(1)
    .default('Zone')
    .meta({ description: 'Display name; default: Zone and its number.', example: 'Green 7' }),
  type: zoneTypeSchema.default('alert'),
  enabled: z.boolean().nullish().meta({ description: 'False disables the zone. Default: true.' }),
  visible: z.boolean().nullish().meta({ description: 'True if carts display the zone. Default: false.' }),
  radius_m: z.number().min(1).max(5000).nullish().meta({ description: 'Radius in metres; required for a Point.' }),
  message: z
    .string()
    .max(200)
    .nullish()
    .meta({ description: 'Text that a cart displays in a message zone; default: the name of the zone.' }),
  max_speed_kmh: z
    .number()
    .min(1)
    .max(200)
    .nullish()
    .meta({ description: "Speed limit in a slow zone; default: the cart's own slow speed." }),
  hole: z.number().int().min(1).max(99).nullish().meta({ description: 'Golf hole of the zone.' }),
  lock_here: z.boolean().nullish().meta({
    description: 'True if a cart that stands in the zone for too long may be locked. Default: false.',
  }),
})

export function newFeatureSchema<Properties extends z.ZodType>(properties: Properties) {
  return z
    .object({
      type: z.literal('Feature'),
      id: z
        .union([z.string().min(1).max(64), z.number()])
        .nullish()
        .meta({ description: 'Unique id; a number is read as text, and an absent id is generated.' }),
      geometry: geometrySchema,
      properties,
    })
    .meta({
      // rules beyond the schemas, for clients that generate requests from the document
      allOf: [
        {
          anyOf: [
            { properties: { geometry: { properties: { type: { const: 'Polygon' } } } } },
            {
              properties: {
                properties: { required: ['radius_m'], properties: { radius_m: { type: 'number' } } },
              },
            },
          ],
        },
      ],
    })
}

/** Zones of a group as sent. Unlisted members (bbox, crs, styles) are ignored and not stored. Source: RFC 7946. */
export const newGeofencesSchema = z.preprocess(
  (given) => completeZones(given).zones,
  z.object({
    type: z.literal('FeatureCollection'),
    features: atMost(
      ZONES_MAX,
      'too_many_zones',
      `a group has at most ${ZONES_MAX} zones`,
      z.array(newFeatureSchema(newZonePropertiesSchema)),
    ),
  }),
)

/** Text for route descriptions: completion of the parts that were omitted from zones. */
export const COMPLETED =
  'A bare Feature, an array of Features and {"geofences": …} are accepted as the FeatureCollection that they ' +
  'represent, and a MultiPolygon of one polygon as that polygon. A feature without a type becomes an alert zone, ' +
  'one without a name is called Zone and its number, and its properties may be null. `warnings` lists everything ' +
  'that was filled in or unwrapped.'

/** Part of the zones that was filled in or unwrapped. */
const completionSchema = z.object({
  code: z.enum(['filled_in', 'unwrapped']).meta({
    description: 'filled_in: a type or a name was missing. unwrapped: the body or a geometry had an alternative form.',
  }),
  zone_id: z.string().nullable().meta({ description: 'Id as sent; null if it was absent.' }),
  detail: z.string().meta({ description: 'Readable explanation.' }),
})
export type CompletionJson = z.infer<typeof completionSchema>

export function toCompletionsJson(given: unknown): CompletionJson[] {
  return completeZones(given).completions.map(({ code, zoneId, detail }) => ({
    code,
    zone_id: zoneId,
    detail,
  }))
}

export type NewGeofences = z.infer<typeof newGeofencesSchema>
export type NewFeature = NewGeofences['features'][number]

/** Properties of a zone as returned. */
export const shownZonePropertiesSchema = z.object({
  name: z.string(),
  type: zoneTypeSchema,
  enabled: z.boolean(),
  visible: z.boolean(),
  radius_m: z.number().optional(),
  message: z.string().optional(),
  max_speed_kmh: z.number().optional(),
  hole: z.number().int().optional(),
  lock_here: z.boolean().optional(),
})

export const SHOWN_PROPERTIES = {
  description: 'Properties as sent, with all defaults filled in; radius_m in metres.',
}

/** Returns the schema of a zone as returned, with these properties. */
export function shownFeatureSchema<Properties extends z.ZodType>(properties: Properties) {
  return z.object({
    type: z.literal('Feature'),
    id: z.string().meta({ description: 'Id, unique in the group.', example: 'green-7' }),
    geometry: z
      .discriminatedUnion('type', [
        z.object({
          type: z.literal('Polygon'),
          coordinates: z
            .array(z.array(z.tuple([z.number(), z.number()])))
            .meta({ description: 'One closed ring of longitude and latitude, in degrees.' }),
        }),
        z.object({
          type: z.literal('Point'),
          coordinates: z
            .tuple([z.number(), z.number()])
            .meta({ description: 'Centre of a circle of radius_m: longitude, latitude.' }),
        }),
      ])
      .meta({
        description: 'Closed ring of longitude and latitude in degrees, or the centre of a circle.',
      }),
    properties,
  })
}

/** Zones of a group as returned: validated, with all defaults filled in. */
export const geofencesSchema = z.object({
  type: z.literal('FeatureCollection'),
  features: z.array(shownFeatureSchema(shownZonePropertiesSchema.meta(SHOWN_PROPERTIES))),
})

export type GeofencesJson = z.infer<typeof geofencesSchema>

/** Group id, which geofences share, in a query or a path. */
export const geofenceIdParam = wholeNumber(1, MAX_GROUP_ID).meta({ description: 'group_id', example: 42 })

/** Path parameter `:id` of the older endpoints and of the download. */
export const geofenceIdParams = z.object({ id: geofenceIdParam })

/** Zones of a group with their version number, which increases with every change. */
export const groupGeofencesSchema = geofencesSchema.extend({
  group_id: groupIdSchema,
  version: z.number().int().meta({ description: 'Version of the zones; 0 if there never were any.', example: 7 }),
})

/** Zones of a group as the older endpoints return them. */
export const legacyGeofencesSchema = groupGeofencesSchema.extend({
  device_group_id: groupIdSchema.meta({ description: 'Same value as group_id.', example: 42 }),
})

export const changedGeofencesSchema = z.object({
  success: z.literal(true),
  group_id: groupIdSchema,
  version: z.number().int().meta({ description: 'New version.', example: 8 }),
  count: z.number().int().meta({ description: 'Number of zones.', example: 3 }),
  published: z.object({
    teebox: z.object({
      topic: z.string().meta({ description: 'Topic with the retained message for teeboxes.', example: 'sit/42/sz' }),
      ok: z.literal(true),
      simplified_m: z
        .number()
        .optional()
        .meta({
          description:
            'Maximum deviation of a zone edge in metres. Only present if corners were omitted to fit, together with ' +
            'the zones of the site, into 16 KiB.',
          example: 1.5,
        }),
    }),
  }),
  warnings: z
    .array(completionSchema)
    .optional()
    .meta({ description: 'Parts that were filled in or unwrapped; absent if there were none.' }),
  fetch_required: z.array(z.string()).meta({
    description: 'hardware_ids of the cartcaddies in the group, which get zones with the command fetch_geofences.',
    example: ['screen-1'],
  }),
})

export const geofenceDownloadQuerySchema = z.object({
  token: z
    .string()
    .optional()
    .meta({ description: 'Token from the command fetch_geofences; an admin key is required without it.' }),
})

/** Payload of the command fetch_geofences: where a device downloads its group's zones, and for how long it is valid. */
export interface GeofenceFetchJson {
  /** Path with query. The host is that of the device's MQTT connection, the port that of HTTP. */
  url: string
  version: number
  expires_at: string
}

export type ChangedGeofencesJson = z.infer<typeof changedGeofencesSchema>

/** Zone types that a teebox knows: alert, stop, slow, parking. */
const compactTypeSchema = z.enum(['a', 's', 'w', 'p'])

const degreesE7Schema = z.number().int()
const compactZoneBase = { i: z.string(), t: compactTypeSchema, k: z.number().optional() }

/**
 * Payload of `sit/{groupId}/sz`: version and zones. A zone has its id, its type, a limit in km/h (`k`, slow zones) and
 * either its corners (`p`: latitude, longitude, latitude …, not closed) or its centre and radius in metres (`c`, `r`).
 * Coordinates are integers of 1e-7 degree.
 */
export const compactZonesSchema = z.object({
  v: z.number().int(),
  z: z.array(
    z.union([
      z.strictObject({ ...compactZoneBase, p: z.array(degreesE7Schema) }),
      z.strictObject({ ...compactZoneBase, c: z.tuple([degreesE7Schema, degreesE7Schema]), r: z.number() }),
    ]),
  ),
})

/** Rejects a list that is too long with a separate code, without validating its items. */
export function atMost<Schema extends z.ZodType>(max: number, code: string, message: string, schema: Schema) {
  const counted = z.preprocess((value, ctx) => {
    if (!Array.isArray(value) || value.length <= max) return value
    ctx.addIssue({ code: 'custom', message, params: { code } })
    return z.NEVER
  }, schema)
  return counted.meta({ maxItems: max })
}
