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

/** Longitude and latitude in degrees; what comes after them (an altitude) is ignored. Source: RFC 7946, 3.1.1. */
const positionSchema = z
  .tuple([z.number(), z.number()], z.unknown())
  .meta({ description: 'Longitude, latitude.', example: [-81.58, 28.41] })

// Counted before what is inside is looked at: a megabyte of nonsense would be as many errors.
const ringSchema = atMost(
  ZONE_POINTS_MAX + 1,
  'too_many_points',
  `a zone has at most ${ZONE_POINTS_MAX} points, not counting the one that closes it`,
  z.array(positionSchema),
)

const polygonSchema = z.object({
  type: z.literal('Polygon'),
  coordinates: atMost(1, 'holes_not_supported', 'a zone has one ring and no holes', z.array(ringSchema).min(1)).meta({
    description: 'One ring; an open one is closed.',
  }),
})

const pointSchema = z.object({
  type: z.literal('Point'),
  coordinates: positionSchema.meta({ description: 'The centre of a circle of radius_m.' }),
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
  .meta({ description: 'A Polygon of one ring, or a Point with radius_m.' })

// Map editors write null for what a feature lacks and another has, so null is the same as absent.
/** What is said of a zone as it is sent. */
export const newZonePropertiesSchema = z.object({
  name: oneLine
    .min(1)
    .default('Zone')
    .meta({ description: 'For people; Zone and its number where it is left out.', example: 'Green 7' }),
  type: zoneTypeSchema.default('alert'),
  enabled: z.boolean().nullish().meta({ description: 'Default true; a disabled zone has no effect.' }),
  visible: z.boolean().nullish().meta({ description: 'Default false; whether carts show it.' }),
  radius_m: z.number().min(1).max(5000).nullish().meta({ description: 'Metres; with a Point, where it is required.' }),
  message: z
    .string()
    .max(200)
    .nullish()
    .meta({ description: 'What a cart shows in a message zone; its name where there is none.' }),
  max_speed_kmh: z
    .number()
    .min(1)
    .max(200)
    .nullish()
    .meta({ description: "The limit in a slow zone; the cart's own slow speed where there is none." }),
  hole: z.number().int().min(1).max(99).nullish().meta({ description: 'The golf hole it belongs to.' }),
})

/** A zone as it is sent, with these properties. */
export function newFeatureSchema<Properties extends z.ZodType>(properties: Properties) {
  return z
    .object({
      type: z.literal('Feature'),
      id: z
        .union([z.string().min(1).max(64), z.number()])
        .nullish()
        .meta({ description: 'Unique; a number is read as text; one is made up where there is none.' }),
      geometry: geometrySchema,
      properties,
    })
    .meta({
      // what the schemas alone do not say, for those who make requests from the document
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

/**
 * The zones of a group as they are sent. Members it does not name (bbox, crs, styles) are ignored and not kept.
 * Source: RFC 7946.
 */
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

/** How the parts that were left out of zones are filled in, for the descriptions of their routes. */
export const COMPLETED =
  'A bare Feature, an array of Features and {"geofences": …} are taken as the FeatureCollection they stand for, ' +
  'a MultiPolygon of one polygon as that polygon; a feature without a type is an alert zone, one without a name ' +
  'is Zone and its number, and its properties may be null. Whatever was filled in or unwrapped is in `warnings`.'

/** A part of the zones that was filled in or unwrapped. */
const completionSchema = z.object({
  code: z.enum(['filled_in', 'unwrapped']).meta({
    description:
      'filled_in: a type or a name was left out. unwrapped: the form of the body or of a geometry stands for another.',
  }),
  zone_id: z.string().nullable().meta({ description: 'As it was sent; null where it was not.' }),
  detail: z.string().meta({ description: 'For people.' }),
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

/** What is said of a zone as it is answered. */
export const shownZonePropertiesSchema = z.object({
  name: z.string(),
  type: zoneTypeSchema,
  enabled: z.boolean(),
  visible: z.boolean(),
  radius_m: z.number().optional(),
  message: z.string().optional(),
  max_speed_kmh: z.number().optional(),
  hole: z.number().int().optional(),
})

export const SHOWN_PROPERTIES = {
  description: 'As they were given, with every default filled in; radius_m in metres.',
}

/** A zone as it is answered, with these properties. */
export function shownFeatureSchema<Properties extends z.ZodType>(properties: Properties) {
  return z.object({
    type: z.literal('Feature'),
    id: z.string().meta({ description: 'Unique in the group.', example: 'green-7' }),
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
            .meta({ description: 'The centre of a circle of radius_m: longitude, latitude.' }),
        }),
      ])
      .meta({
        description: 'A closed ring of longitude and latitude in degrees, or the centre of a circle.',
      }),
    properties,
  })
}

/** The zones of a group as they are answered: checked, with every default filled in. */
export const geofencesSchema = z.object({
  type: z.literal('FeatureCollection'),
  features: z.array(shownFeatureSchema(shownZonePropertiesSchema.meta(SHOWN_PROPERTIES))),
})

export type GeofencesJson = z.infer<typeof geofencesSchema>

/** An id of groups, which geofences share, in a query or a path. */
export const geofenceIdParam = wholeNumber(1, MAX_GROUP_ID).meta({ description: 'group_id', example: 42 })

/** The `:id` of the older endpoints and of the download. */
export const geofenceIdParams = z.object({ id: geofenceIdParam })

/** The zones of a group with the number of their version, which grows with every change. */
export const groupGeofencesSchema = geofencesSchema.extend({
  group_id: groupIdSchema,
  version: z.number().int().meta({ description: '0 while there never were any.', example: 7 }),
})

/** The same as the older endpoints answer it. */
export const legacyGeofencesSchema = groupGeofencesSchema.extend({
  device_group_id: groupIdSchema.meta({ description: 'The same as group_id.', example: 42 }),
})

export const changedGeofencesSchema = z.object({
  success: z.literal(true),
  group_id: groupIdSchema,
  version: z.number().int().meta({ description: 'The new version.', example: 8 }),
  count: z.number().int().meta({ description: 'Zones there are now.', example: 3 }),
  published: z.object({
    teebox: z.object({
      topic: z.string().meta({ description: 'Retained there for teeboxes.', example: 'sit/42/sz' }),
      ok: z.literal(true),
      simplified_m: z
        .number()
        .optional()
        .meta({
          description:
            'Metres: no edge is farther from where it was drawn. Only where corners were left out to fit, with the ' +
            'zones of the site, into 16 KiB.',
          example: 1.5,
        }),
    }),
  }),
  warnings: z
    .array(completionSchema)
    .optional()
    .meta({ description: 'Parts that were filled in or unwrapped; left out for none.' }),
  fetch_required: z.array(z.string()).meta({
    description: 'hardware_ids of the cartcaddies in the group: they get zones by the command fetch_geofences.',
    example: ['screen-1'],
  }),
})

export const geofenceDownloadQuerySchema = z.object({
  token: z
    .string()
    .optional()
    .meta({ description: 'From the command fetch_geofences; without it an admin key is needed.' }),
})

/** What the command fetch_geofences tells a device: where it downloads the zones of its group, and how long. */
export interface GeofenceFetchJson {
  /** A path with its query. The host is the one the device speaks MQTT with, the port that of HTTP. */
  url: string
  version: number
  expires_at: string
}

export type ChangedGeofencesJson = z.infer<typeof changedGeofencesSchema>

/** The kinds of zones a teebox knows: alert, stop, slow, parking. */
const compactTypeSchema = z.enum(['a', 's', 'w', 'p'])

const degreesE7Schema = z.number().int()
const compactZoneBase = { i: z.string(), t: compactTypeSchema, k: z.number().optional() }

/**
 * The payload of `sit/{groupId}/sz`: version, zones. A zone has its id, its kind, a limit in km/h (`k`, slow zones) and
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

/** Refuses a list that is too long under a code of its own, without looking at what is in it. */
export function atMost<Schema extends z.ZodType>(max: number, code: string, message: string, schema: Schema) {
  const counted = z.preprocess((value, ctx) => {
    if (!Array.isArray(value) || value.length <= max) return value
    ctx.addIssue({ code: 'custom', message, params: { code } })
    return z.NEVER
  }, schema)
  return counted.meta({ maxItems: max })
}
