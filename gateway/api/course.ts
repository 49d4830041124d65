import type { OpenAPIHono } from '@hono/zod-openapi'
import type { DrawnCourse } from '#services/course.ts'
import { answerPhoto, notModifiedResponse, photoEtag, photoResponses } from '#shared/http/course-photo.ts'
import { bytesBodyUpTo, unreadJsonUpTo } from '#shared/http/request-guards.ts'
import { answers, body, described } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { PHOTO_TYPES } from '#shared/photo/photo-type.ts'
import {
  type CourseJson,
  type CoursePhotoJson,
  changedCourseSchema,
  changedPhotoSchema,
  coursePhotoQuerySchema,
  courseSchema,
  imageSchema,
  newCourseSchema,
  proposedZonesSchema,
} from '#shared/wire/course.ts'
import { toSiteFeaturesJson } from '#shared/wire/zones-json.ts'
import { type ApiEnv, adminOnly, createApi, readerOwnerOf } from './api-env.ts'
import type { CourseDeps } from './deps.ts'
import { answerTagged, Representations } from './representations.ts'

/** Body with the course photo. */
const imageBody = bytesBodyUpTo(8 * 1_048_576, PHOTO_TYPES)

const courseBody = unreadJsonUpTo(5 * 1_048_576)

/** `/course`: the course map and the photo below it. */
export function createCourseApi({ course, site }: CourseDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()
  const representations = new Representations(courseText)

  api.openapi(
    route.get('/course', 'Get the drawing of the course', {
      description:
        'GeoJSON with OpenStreetMap tags, and the position of its photo. Answers 304 if If-None-Match has the ' +
        'current ETag.',
      responses: {
        ...answers(courseSchema, 'The course map; empty at version 0 if none was ever set.'),
        304: { description: 'It has not changed since the version in If-None-Match.' },
      },
    }),
    (c) => answerTagged(c, representations.of(course.current)),
  )

  api.openapi(
    route.put('/course', 'Set the drawing of the course', {
      description:
        'GeoJSON of at most 5 MB with tags of OpenStreetMap, such as an export of Overpass turbo: holes, greens, ' +
        'fairways, tees, bunkers, water, woods, buildings, paths. It replaces the present one; the photo stays. ' +
        'Devices do not receive it. For admins.',
      middleware: [adminOnly, courseBody],
      request: { body: body(newCourseSchema) },
      responses: answers(changedCourseSchema, 'Number of stored features of each kind.', 400, 403, 413, 415),
    }),
    async (c) => {
      const bytes = new Uint8Array(await c.req.arrayBuffer())
      const { version, counts } = await course.replace(bytes, readerOwnerOf(c))
      return c.json({ success: true as const, version, counts }, 200)
    },
  )

  api.openapi(
    route.delete('/course', 'Delete the drawing of the course', {
      description: 'The photo and the zones stay. For admins.',
      middleware: [adminOnly],
      responses: answers(changedCourseSchema, 'The course map is deleted.', 403),
    }),
    async (c) => {
      const { version, counts } = await course.remove()
      return c.json({ success: true as const, version, counts }, 200)
    },
  )

  api.openapi(
    route.get('/course/photo', 'Get the photo of the course', {
      description: 'With an ETag. Answers 304 if If-None-Match has the current one.',
      responses: photoResponses,
    }),
    async (c) => {
      const known = course.current.photo
      const same = known && notModifiedResponse(c, known)
      if (same !== null) return described(same)
      const { photo, image } = await course.image(c.var.user.caller.userId, c.req.raw.signal)
      return answerPhoto(c, photo, image)
    },
  )

  api.openapi(
    route.put('/course/photo', 'Set the photo of the course', {
      description:
        'JPEG, PNG or WebP of at most 8 MB as the body. Metadata except pixels and colours, such as place and ' +
        'author, is stripped, including the orientation: corners are those of the stored image. For admins.',
      middleware: [adminOnly, imageBody],
      request: {
        query: coursePhotoQuerySchema,
        body: {
          required: true,
          content: Object.fromEntries(PHOTO_TYPES.map((type) => [type, { schema: imageSchema }])),
        },
      },
      responses: answers(changedPhotoSchema, 'The photo is shown below the course map.', 400, 403, 413, 415),
    }),
    async (c) => {
      const bytes = new Uint8Array(await c.req.arrayBuffer())
      const { version, photo } = await course.placePhoto(bytes, c.req.valid('query').corners, readerOwnerOf(c))
      return c.json({ success: true as const, version, photo: toPhotoJson(photo) }, 200)
    },
  )

  api.openapi(
    route.delete('/course/photo', 'Delete the photo of the course', {
      description: 'For admins.',
      middleware: [adminOnly],
      responses: answers(changedPhotoSchema, 'The photo is deleted.', 403),
    }),
    async (c) => {
      const { version, photo } = await course.removePhoto()
      return c.json({ success: true as const, version, photo: toPhotoJson(photo) }, 200)
    },
  )

  api.openapi(
    route.post('/course/propose-zones', 'Propose zones of the course', {
      operationId: 'proposeZones',
      description:
        'Zones derived from the course map, in the form of PUT /zones; nothing is stored. The boundary is the ' +
        'outline of the course, else a hull around its features; a hole zone extends 38 m to each side of the line ' +
        'of a hole; greens are circles and water is drawn, both alert; fairways of each hole are disabled, to be ' +
        'switched on for cart path only. At most 90 of them go to devices. For admins.',
      middleware: [adminOnly],
      responses: answers(proposedZonesSchema, 'The zones.', 400, 403, 409),
    }),
    async (c) => {
      const zones = await course.proposeZones(site.settings.language, readerOwnerOf(c))
      return c.json({ type: 'FeatureCollection' as const, features: toSiteFeaturesJson(zones) }, 200)
    },
  )

  return api
}

/** Builds the response text of the course map: its features are already JSON, several megabytes long. */
function courseText({ version, attribution, counts, photo, featuresJson }: DrawnCourse): string {
  const head: Omit<CourseJson, 'features'> = {
    type: 'FeatureCollection',
    version,
    attribution,
    counts,
    photo: toPhotoJson(photo),
  }
  return `${JSON.stringify(head).slice(0, -1)},"features":${featuresJson}}`
}

function toPhotoJson(photo: DrawnCourse['photo']): CoursePhotoJson | null {
  if (photo === null) return null
  const { contentType, corners, bytes } = photo
  return { corners: [...corners], content_type: contentType, bytes, etag: photoEtag(photo) }
}
