import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { CourseCounts } from '#shared/course/course.ts'
import type { PhotoType } from '#shared/photo/photo-type.ts'
import type { Corners } from '#shared/photo/upright.ts'
import type { CourseContent } from '#shared/wire/course.ts'
import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { names, table } from '../db/table.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'
import { contentOf, dropUnusedChunks, hasChunks, joinChunks, PIECE_BYTES, putChunks } from './course-chunks.ts'

export const courseTable = table('course', {
  care: {
    what: 'the map of the course',
    isRemembered: true,
    meaning: 'The map shows zones and carts only, until an admin uploads it again.',
  },
  json: {
    drawing: null,
    photo: null,
  },
  replicated: {
    columns: names('version, attribution, sent, drawing, photo, updated_at_ms'),
    times: ['updated_at_ms'],
    key: "'site'",
    from: `(SELECT only AS rowid, only, version, attribution, features AS sent, drawing, updated_at_ms,
      (SELECT json_object('hash', hash, 'bytes', bytes, 'pieces', (bytes + ${PIECE_BYTES - 1}) / ${PIECE_BYTES},
        'content_type', content_type, 'corners', json(corners)) FROM course_photo) AS photo FROM course) t`,
    where: 't.only = 1 AND ? IS NOT NULL',
  },
})

export const coursePhotoTable = table('course_photo', {
  care: {
    what: 'the photo of the course',
    size: 'large',
    isRemembered: true,
    meaning: 'The map shows no photo until an admin uploads it again.',
  },
  json: {
    corners: { type: 'array', cure: 'delete' },
  },
})

export interface CourseRow {
  version: number
  attribution: string | null
  /** JSON of the features: gzip, then base64. */
  packedFeatures: string
}

/** Attributes of the course photo that are known without decoding it. */
export interface CoursePhoto {
  contentType: PhotoType
  corners: Corners
  hash: string
  bytes: number
}

interface CourseChange extends CourseRow {
  nowMs: number
  /** Counts for the audit log. */
  counts: CourseCounts
}

/** Maps above this length are stored in chunks, because a sync batch takes at most a megabyte. */
const WHOLE_LENGTH = 900_000

/** Unique name of a content. */
export function contentHash(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 32)
}

/** Stored course; its features are '' if chunks of them are missing. */
export function courseRow(connection: Connection): CourseRow | null {
  const row = connection.get<Omit<CourseRow, 'packedFeatures'> & { features: string | null; drawing: string | null }>(
    'SELECT version, attribution, features, drawing FROM course WHERE only = 1',
  )
  if (row === undefined) return null
  const { version, attribution, features, drawing } = row
  const pieces: CourseContent | null = drawing === null ? null : JSON.parse(drawing)
  const packedFeatures = features ?? (pieces && joinChunks(connection, pieces))?.toString() ?? ''
  return { version, attribution, packedFeatures }
}

/** Null also if chunks of the photo are missing. */
export function coursePhoto(connection: Connection): CoursePhoto | null {
  const row = connection.get<Omit<CoursePhoto, 'corners'> & { corners: string }>(
    'SELECT content_type, corners, hash, bytes FROM course_photo WHERE only = 1',
  )
  if (row === undefined || !hasChunks(connection, row)) return null
  return { ...row, corners: JSON.parse(row.corners) }
}

/** Image of that name; null if it is not the current photo. */
export function courseImage(
  { connection }: Pick<ReaderTools, 'connection'>,
  { hash, bytes }: Pick<CoursePhoto, 'hash' | 'bytes'>,
): Uint8Array<ArrayBuffer> | null {
  const image = joinChunks(connection, { hash, bytes })
  return image === null ? null : new Uint8Array(image)
}

export const saveCourse = write(
  (connection: Connection, { version, attribution, packedFeatures, nowMs }: CourseChange): null => {
    const isWhole = packedFeatures.length <= WHOLE_LENGTH
    const content = isWhole ? null : Buffer.from(packedFeatures)
    const drawing = content && contentOf(contentHash(content), content)
    if (content !== null && drawing !== null) putChunks(connection, drawing.hash, content)
    connection.run(
      `INSERT INTO course (only, version, attribution, features, drawing, updated_at_ms) VALUES (1, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET version = excluded.version, attribution = excluded.attribution,
       features = excluded.features, drawing = excluded.drawing, updated_at_ms = excluded.updated_at_ms`,
      version,
      attribution,
      isWhole ? packedFeatures : null,
      drawing && JSON.stringify(drawing),
      nowMs,
    )
    dropUnusedChunks(connection)
    return null
  },
  {
    // numbers of features by type only: the map may be megabytes
    audit: (connection, { version, counts }) => {
      const before = courseRow(connection)
      const [isThere, wasThere] = [hasAny(counts), (before?.version ?? 0) > 0]
      const action = isThere ? (wasThere ? 'course.updated' : 'course.created') : 'course.deleted'
      return () => [
        {
          action,
          target: 'site',
          before: before === null ? null : { version: before.version },
          after: { version, counts },
        },
      ]
    },
  },
)

/** Replaces the photo, or removes it if null, and increases the version of the course. */
export const saveCoursePhoto = write(
  (
    connection: Connection,
    { photo, course }: { photo: (CoursePhoto & { image: Uint8Array }) | null; course: CourseChange },
  ): null => {
    connection.run('DELETE FROM course_photo')
    if (photo !== null) {
      putChunks(connection, photo.hash, photo.image)
      connection.run(
        'INSERT INTO course_photo (only, content_type, corners, hash, bytes) VALUES (1, ?, ?, ?, ?)',
        photo.contentType,
        JSON.stringify(photo.corners),
        photo.hash,
        photo.bytes,
      )
    }
    return saveCourse(connection, course)
  },
  {
    audit: (connection, { photo }) => {
      const [before, after] = [coursePhoto(connection), photo].map(photoEntry)
      const action = after === null ? 'course.photo_deleted' : 'course.photo_updated'
      return () => [{ action, target: 'site', before: before ?? null, after: after ?? null }]
    },
  },
)

/** Drops a photo or a map with missing chunks. A hub that did not receive all of them does not show it either. */
export function dropIncompleteContent(connection: Connection): void {
  if (coursePhoto(connection) === null) connection.run('DELETE FROM course_photo')
  if (courseRow(connection)?.packedFeatures === '')
    connection.run('UPDATE course SET features = ?, drawing = NULL', gzipSync('[]').toString('base64'))
  dropUnusedChunks(connection)
}

function hasAny(counts: object): boolean {
  return Object.values(counts).some((count) => count > 0)
}

function photoEntry(photo: CoursePhoto | null): object | null {
  if (photo === null) return null
  const { contentType, corners, bytes } = photo
  return { content_type: contentType, corners, bytes }
}
