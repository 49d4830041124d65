import type { CourseCounts } from '#shared/course/course.ts'
import type { PhotoType } from '#shared/photo/photo-type.ts'
import type { Corners } from '#shared/photo/upright.ts'
import type { Connection } from './db/connection.ts'
import type { ReaderTools } from './telemetry/reader-tools.ts'

/** The drawing of the course as it is kept. */
export interface CourseRow {
  version: number
  attribution: string | null
  /** JSON of the features: gzip, then base64. */
  packedFeatures: string
}

/** What is known of the photo of the course without looking at it. */
export interface CoursePhoto {
  contentType: PhotoType
  corners: Corners
  hash: string
  bytes: number
}

interface CourseChange extends CourseRow {
  nowMs: number
  /** For the audit log. */
  counts: CourseCounts
}

export function courseRow(connection: Connection): CourseRow | null {
  return (
    connection.get<CourseRow>(
      'SELECT version, attribution, features AS packedFeatures FROM course WHERE only = 1',
    ) ?? null
  )
}

export function coursePhoto(connection: Connection): CoursePhoto | null {
  const row = connection.get<Omit<CoursePhoto, 'corners'> & { corners: string }>(
    'SELECT content_type AS contentType, corners, hash, bytes FROM course_photo WHERE only = 1',
  )
  return row === undefined ? null : { ...row, corners: JSON.parse(row.corners) }
}

/** The image of that name; null when there is another one, or none. */
export function courseImage(
  { connection }: Pick<ReaderTools, 'connection'>,
  { hash }: { hash: string },
): Uint8Array<ArrayBuffer> | null {
  const row = connection.get<{ image: Buffer<ArrayBuffer> }>(
    'SELECT image FROM course_photo WHERE hash = ?',
    hash,
  )
  return row === undefined ? null : new Uint8Array(row.image)
}

/** Puts a drawing in the place of the one there is. */
export function saveCourse(
  connection: Connection,
  { version, attribution, packedFeatures, nowMs }: CourseChange,
): null {
  connection.run(
    `INSERT INTO course (only, version, attribution, features, updated_at_ms) VALUES (1, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET version = excluded.version, attribution = excluded.attribution,
       features = excluded.features, updated_at_ms = excluded.updated_at_ms`,
    ...[version, attribution, packedFeatures, nowMs],
  )
  return null
}

/** Puts a photo in the place of the one there is; null takes that away. The course has another version then. */
export function saveCoursePhoto(
  connection: Connection,
  { photo, course }: { photo: (CoursePhoto & { image: Uint8Array }) | null; course: CourseChange },
): null {
  connection.run('DELETE FROM course_photo')
  if (photo !== null)
    connection.run(
      `INSERT INTO course_photo (only, content_type, corners, hash, bytes, image) VALUES (1, ?, ?, ?, ?, ?)`,
      ...[photo.contentType, JSON.stringify(photo.corners), photo.hash, photo.bytes, photo.image],
    )
  return saveCourse(connection, course)
}
