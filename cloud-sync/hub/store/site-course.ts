import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { countsOf } from '#shared/course/course.ts'
import { type CourseJson, courseBodySchema, courseFeaturesSchema } from '#shared/wire/course.ts'
import type { Sql } from './database/database.ts'

const unpack = promisify(gunzip)
/** More is not written by a gateway. */
const FEATURES_BYTES = 16 * 1024 * 1024

/**
 * The drawing of a site's course; empty where it has sent none, or none that can be read, or one too large to send. Photos
 * stay at the site.
 */
export async function siteCourseOf(sql: Sql, siteId: string): Promise<CourseJson> {
  const row = await sql.get<{ body: string }>(
    `SELECT body FROM entity WHERE site_id = $1 AND entity_table = 'course' AND body IS NOT NULL`,
    [siteId],
  )
  const parsed = courseBodySchema.safeParse(JSON.parse(row?.body ?? 'null'))
  const { version, attribution, sent } = parsed.data ?? { version: 0, attribution: null, sent: null }
  const features = sent === null ? [] : await featuresIn(sent)
  return {
    ...{ type: 'FeatureCollection', version, attribution, photo: null },
    ...{ counts: countsOf(features), features },
  }
}

async function featuresIn(packed: string): Promise<CourseJson['features']> {
  try {
    const text = await unpack(Buffer.from(packed, 'base64'), { maxOutputLength: FEATURES_BYTES })
    return courseFeaturesSchema.parse(JSON.parse(text.toString()))
  } catch {
    // a site may send anything
    return []
  }
}
