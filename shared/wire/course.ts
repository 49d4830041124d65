import { z } from 'zod'
import { USED_TAGS } from '#shared/course/tags.ts'
import { siteZonesSchema } from './zones.ts'

/** Accepts any content: all faults share a separate error code. */
export const newCourseSchema = z
  .looseObject({
    type: z.unknown().optional().meta({ description: 'FeatureCollection.', example: 'FeatureCollection' }),
    features: z
      .unknown()
      .optional()
      .meta({
        type: 'array',
        description:
          'GeoJSON features with OpenStreetMap tags in their properties: golf, natural, water, building, highway. ' +
          'Others are ignored.',
        example: [
          {
            type: 'Feature',
            properties: { golf: 'hole', ref: '7', par: '4' },
            geometry: {
              type: 'LineString',
              coordinates: [
                [-81.58, 28.41],
                [-81.577, 28.412],
              ],
            },
          },
        ],
      }),
  })
  .meta({ id: 'NewCourse' })

const placeSchema = z.object({
  lat: z.number().min(-90).max(90).meta({ description: 'Latitude in degrees.', example: 28.41 }),
  long: z.number().min(-180).max(180).meta({ description: 'Longitude in degrees.', example: -81.58 }),
})

const count = (description: string) => z.number().int().meta({ description, example: 18 })

const countsSchema = z
  .object({
    holes: count('Number of hole lines.'),
    greens: count('Number of greens.'),
    fairways: count('Number of fairways.'),
    tees: count('Number of tees.'),
    bunkers: count('Number of bunkers.'),
    roughs: count('Number of roughs.'),
    practice_areas: count('Number of driving ranges and practice greens.'),
    water: count('Number of ponds, streams and water hazards.'),
    woods: count('Number of woods and areas of scrub.'),
    buildings: count('Number of buildings.'),
    paths: count('Number of cart paths and other paths.'),
    outlines: count('Number of course outlines.'),
  })
  .meta({ description: 'Number of features of each kind.' })

const photoTypeSchema = z.enum(['image/jpeg', 'image/png', 'image/webp'])

const photoSchema = z
  .object({
    corners: z.array(placeSchema).meta({ description: 'Positions of the four corners, clockwise from the top left.' }),
    content_type: photoTypeSchema,
    bytes: z.number().int().meta({ description: 'Size without the removed metadata.', example: 1_234_567 }),
    etag: z.string().meta({ description: 'ETag as in GET /course/photo.', example: '"1f0c8d5e2a9b4c76"' }),
  })
  .meta({ id: 'CoursePhoto' })
export type CoursePhotoJson = z.infer<typeof photoSchema>

const versionSchema = z.number().int().meta({
  description:
    'Version of the course map, which increases with every change of the map or its photo; 0 if there never was any.',
  example: 3,
})

const positionSchema = z.tuple([z.number(), z.number()])
const line = z.array(positionSchema).meta({ description: 'Positions as longitude and latitude in degrees.' })
const lines = z
  .array(z.array(positionSchema))
  .meta({ description: 'Lines, or closed rings, of which the first is the edge.' })
const areas = z.array(z.array(z.array(positionSchema))).meta({ description: 'Rings of each area.' })
const geometrySchema = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('LineString'), coordinates: line }),
    z.object({ type: z.literal('MultiLineString'), coordinates: lines }),
    z.object({ type: z.literal('Polygon'), coordinates: lines }),
    z.object({ type: z.literal('MultiPolygon'), coordinates: areas }),
  ])
  .meta({ description: 'Geometry as in GeoJSON.' })

/** Features of a course map, also in the hub. */
export const courseFeaturesSchema = z.array(
  z.object({
    type: z.literal('Feature'),
    id: z.string().optional().meta({ description: 'Features of the course.', example: 'way/123' }),
    geometry: geometrySchema,
    properties: z
      .object(
        // the keys are those of the list
        Object.fromEntries(USED_TAGS.map((tag) => [tag, z.string().optional()])) as Record<
          (typeof USED_TAGS)[number],
          z.ZodOptional<z.ZodString>
        >,
      )
      .meta({ description: 'OpenStreetMap tags.' }),
  }),
)

const attributionSchema = z
  .string()
  .nullable()
  .meta({ description: 'Attribution that a map must show.', example: '© OpenStreetMap contributors' })

export const courseSchema = z
  .object({
    type: z.literal('FeatureCollection'),
    version: versionSchema,
    attribution: attributionSchema,
    counts: countsSchema,
    photo: photoSchema.nullable(),
    features: courseFeaturesSchema,
  })
  .meta({ id: 'Course' })
export type CourseJson = z.infer<typeof courseSchema>

/** Content replicated in chunks: entities `course_piece`, keyed by its name, '/' and their number in four digits. */
const contentSchema = z.object({
  hash: z.string().regex(/^[0-9a-f]{32}$/),
  bytes: z.number().int().min(1).max(16_777_216),
  pieces: z.number().int().min(1).max(1000),
})
export type CourseContent = z.infer<typeof contentSchema>

/**
 * Course map as replicated to the hub: the body of the entity `course`. The map is in `sent`, or in the chunks listed
 * in `drawing`, which together equal `sent`. Older gateways have no chunks.
 */
export const courseBodySchema = z.object({
  version: z.number().int().min(0),
  attribution: z.string().nullable(),
  sent: z.string().nullable(),
  // unknown fields of a newer gateway must not invalidate the rest
  drawing: contentSchema.nullish().catch(null),
  photo: contentSchema
    .extend({ content_type: photoTypeSchema, corners: z.array(placeSchema).length(4) })
    .nullish()
    .catch(null),
})

export type CourseBody = z.infer<typeof courseBodySchema>

/** Body of the entity `course_piece`. */
export const courseChunkBodySchema = z.object({
  hash: contentSchema.shape.hash,
  number: z.number().int().min(0).max(9999),
  /** Base64. */
  bytes: z.base64(),
})

export const changedCourseSchema = z
  .object({ success: z.literal(true), version: versionSchema, counts: countsSchema })
  .meta({ id: 'ChangedCourse' })

export const changedPhotoSchema = z
  .object({ success: z.literal(true), version: versionSchema, photo: photoSchema.nullable() })
  .meta({ id: 'ChangedCoursePhoto' })

const DEGREES = '\\s*-?\\d{1,3}(\\.\\d{1,16})?\\s*'
const PLACE = `${DEGREES},${DEGREES}`

/** Four different positions: `lat,long;lat,long;lat,long;lat,long`. */
const cornersParam = z
  .string()
  .transform((text, ctx) => {
    const places = text.split(';').map((pair) => {
      const numbers = pair
        .split(',')
        .map((digits) => (/^\s*-?\d{1,3}(\.\d{1,16})?\s*$/.test(digits) ? Number(digits) : Number.NaN))
      return placeSchema.safeParse({ lat: numbers[0], long: numbers[1] }).data ?? null
    })
    const [a, b, c, d, ...more] = places
    const areDifferent = new Set(places.map((place) => JSON.stringify(place))).size === 4
    if (a && b && c && d && more.length === 0 && areDifferent) return [a, b, c, d] as const
    const message = 'must be four different positions as lat,long;lat,long;lat,long;lat,long'
    ctx.addIssue({ code: 'custom', message, params: { code: 'invalid_parameter' } })
    return z.NEVER
  })
  .meta({
    pattern: `^${PLACE}(;${PLACE}){3}$`,
    description:
      'Positions of the corners of the upright image, clockwise from the top left: ' +
      'lat,long;lat,long;lat,long;lat,long.',
    example: '28.42,-81.59;28.42,-81.57;28.40,-81.57;28.40,-81.59',
  })

/** Bytes of an image, which are not read like JSON. */
export const imageSchema = z.custom<Blob>().meta({ type: 'string', format: 'binary' })

export const coursePhotoQuerySchema = z.object({ corners: cornersParam })

/** Zones proposed for the course, in the form of PUT /zones. */
export const proposedZonesSchema = siteZonesSchema.meta({ id: 'ProposedZones' })
