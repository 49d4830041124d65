import { requireSite } from '#hub/access.ts'
import { type SitePhoto, siteChunks, siteCourseOf, sitePhotoOf } from '#hub/store/site-course.ts'
import { NotFoundError } from '#shared/errors.ts'
import { answerPhoto, notModifiedResponse, photoEtag, photoResponses } from '#shared/http/course-photo.ts'
import { described, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { type CoursePhotoJson, courseSchema } from '#shared/wire/course.ts'
import { siteParams } from '#shared/wire/sites.ts'
import { type SiteRoute, siteNoun } from './site-noun.ts'

export const SITE_COURSE = siteNoun({
  path: '/sites/{site}/course',
  summary: 'Get the course map of a site',
  description: 'As GeoJSON, with the position of its photo.',
  schema: courseSchema,
  answer:
    'As its gateway has it; empty while there never was one. A photo, or a large drawing, is shown once all of ' +
    'it has come.',
  read: async ({ sql, site }) => {
    const [course, photo] = await Promise.all([siteCourseOf(sql, site), sitePhotoOf(sql, site)])
    return { ...course, photo: photo && toPhotoJson(photo) }
  },
})

/** Photo below the course map. */
export const SITE_COURSE_PHOTO: SiteRoute = (api, { sql }) =>
  api.openapi(
    route.get('/sites/{site}/course/photo', 'Get the photo of the course of a site', {
      description: 'With an ETag. Answers 304 if If-None-Match has the current one.',
      request: { params: siteParams },
      responses: { ...photoResponses, ...problems(403) },
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      await requireSite(sql, c.var.user, site)
      const photo = await sitePhotoOf(sql, site)
      if (photo === null)
        throw new NotFoundError('photo_not_found', 'the course has no photo, or the photo has not arrived completely')
      const known = { ...photo, contentType: photo.content_type }
      return described(notModifiedResponse(c, known) ?? answerPhoto(c, known, siteChunks(sql, site, photo)))
    },
  )

function toPhotoJson(photo: SitePhoto): CoursePhotoJson {
  const { corners, content_type, bytes } = photo
  return { corners, content_type, bytes, etag: photoEtag(photo) }
}
