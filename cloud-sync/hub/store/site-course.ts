import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { countsOf } from '#shared/course/course.ts'
import {
  type CourseBody,
  type CourseContent,
  type CourseJson,
  courseBodySchema,
  courseChunkBodySchema,
  courseFeaturesSchema,
} from '#shared/wire/course.ts'
import type { Sql } from './database/database.ts'

const unpack = promisify(gunzip)
/** Maximum that a gateway writes. */
const FEATURES_BYTES = 16 * 1024 * 1024
/** Upper bound of the fields of a chunk without its base64. */
const PIECE_FIELDS_BYTES = 200
const NOTHING: CourseBody = { version: 0, attribution: null, sent: null }

export type SitePhoto = NonNullable<CourseBody['photo']>

/** Returns the course map of a site; empty if the site has sent none, an incomplete one, or an unreadable one. */
export async function siteCourseOf(sql: Sql, siteId: string): Promise<Omit<CourseJson, 'photo'>> {
  const { version, attribution, sent, drawing } = await bodyOf(sql, siteId)
  const packed = sent ?? (drawing == null ? null : await joined(sql, siteId, drawing))
  const features = packed === null ? [] : await featuresIn(packed)
  return { type: 'FeatureCollection', version, attribution, counts: countsOf(features), features }
}

/** Returns the photo of a site's course; null if the site has sent none, or an incomplete one. */
export async function sitePhotoOf(sql: Sql, siteId: string): Promise<SitePhoto | null> {
  const { photo } = await bodyOf(sql, siteId)
  return photo != null && (await isComplete(sql, siteId, photo)) ? photo : null
}

/** Streams the bytes of a complete content, read as they are consumed; fails if chunks are deleted meanwhile. */
export function siteChunks(sql: Sql, siteId: string, content: CourseContent): ReadableStream<Uint8Array> {
  let number = 0
  let bytes = 0
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (number === content.pieces) return controller.close()
        const piece = await pieceOf(sql, siteId, content.hash, number++)
        bytes += piece?.length ?? 0
        const isWhole = number < content.pieces ? bytes < content.bytes : bytes === content.bytes
        if (piece === null || !isWhole) controller.error(new Error('the site has changed it meanwhile'))
        else controller.enqueue(piece)
      },
    },
    { highWaterMark: 0 },
  )
}

async function bodyOf(sql: Sql, siteId: string): Promise<CourseBody> {
  const row = await sql.get<{ body: string }>(
    `SELECT body FROM entity WHERE site_id = $1 AND entity_table = 'course' AND body IS NOT NULL`,
    [siteId],
  )
  return courseBodySchema.safeParse(JSON.parse(row?.body ?? 'null')).data ?? NOTHING
}

/** True if all chunks exist, and no more than a gateway makes: a site may send anything. */
async function isComplete(sql: Sql, siteId: string, { hash, bytes, pieces }: CourseContent): Promise<boolean> {
  const found = await sql.get<{ pieces: number; bytes: number }>(
    `SELECT COUNT(*) AS pieces, CAST(COALESCE(SUM(octet_length(body)), 0) AS BIGINT) AS bytes FROM entity
      WHERE site_id = $1 AND entity_table = 'course_piece' AND entity_key LIKE $2 AND body IS NOT NULL`,
    [siteId, `${hash}/%`],
  )
  const most = pieces * PIECE_FIELDS_BYTES + (bytes * 4) / 3
  return found?.pieces === pieces && found.bytes <= most
}

async function pieceOf(sql: Sql, siteId: string, hash: string, number: number): Promise<Buffer | null> {
  const row = await sql.get<{ body: string }>(
    `SELECT body FROM entity
      WHERE site_id = $1 AND entity_table = 'course_piece' AND entity_key = $2 AND body IS NOT NULL`,
    [siteId, `${hash}/${String(number).padStart(4, '0')}`],
  )
  const { data } = courseChunkBodySchema.safeParse(JSON.parse(row?.body ?? 'null'))
  return data === undefined ? null : Buffer.from(data.bytes, 'base64')
}

async function joined(sql: Sql, siteId: string, content: CourseContent): Promise<string | null> {
  if (!(await isComplete(sql, siteId, content))) return null
  const pieces: Uint8Array[] = []
  try {
    for await (const piece of siteChunks(sql, siteId, content)) pieces.push(piece)
  } catch {
    return null
  }
  return Buffer.concat(pieces).toString()
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
