import { buffer } from 'node:stream/consumers'
import { isDeepStrictEqual } from 'node:util'
import { siteChunks, siteCourseOf, sitePhotoOf } from '#hub/store/site-course.ts'
import type { ApiClient } from '#shared/client.ts'
import type { SyncFindings } from './findings.ts'
import type { HubSite } from './telemetry-check.ts'

/** Compares the drawing of a course, and its photo byte for byte, as both sides show them. */
export async function checkCourse({ sql, siteId }: HubSite, client: ApiClient, findings: SyncFindings): Promise<void> {
  const { photo, ...here } = await client.call('GET /course')
  const there = await siteCourseOf(sql, siteId)
  if (!isDeepStrictEqual(there, here))
    findings.note('course', `a drawing of version ${there.version} and ${there.features.length} features`)
  const photoThere = await sitePhotoOf(sql, siteId)
  if ((photo === null) !== (photoThere === null)) findings.note('course', 'a photo on one side only')
  if (photo === null || photoThere === null) return
  const { body } = await client.download('GET /course/photo')
  if (body === null) throw new Error('GET /course/photo: no body')
  const image = await buffer(body)
  if (!image.equals(await buffer(siteChunks(sql, siteId, photoThere))))
    findings.note('course', 'a photo with other bytes')
  findings.compared.photoBytes += image.length
}
