import type { CourseContent } from '#shared/wire/course.ts'
import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'

/** Size of a chunk: 64 KB as base64, which delays states on a slow link. The migration has the same number. */
export const PIECE_BYTES = 49_152
/** Key of a chunk at the hub, ordered by number. */
const KEY = (table: string) => `printf('%s/%04d', ${table}.hash, ${table}.number)`

export const courseChunkTable = table('course_piece', {
  care: {
    what: 'the photo and a large map of the course, in chunks',
    size: 'large',
    isRemembered: true,
    meaning: 'A photo or map with missing chunks is not shown until an admin uploads it again.',
  },
  replicated: {
    columns: ['hash', 'number', 'bytes'],
    blobs: ['bytes'],
    key: KEY('t'),
    // chunks are sent to the hub one after the other
    sentWith: `JOIN change_log logged ON logged.entity = 'course_piece' AND logged.key = ${KEY('t')}`,
    where: 't.hash = ? AND t.number = ?',
    valuesOf: (key) => [key.split('/', 1)[0] ?? '', Number(key.slice(key.indexOf('/') + 1))],
  },
  noun: 'course',
})

const UNLOGGED = `SELECT 'course_piece', ${KEY('p')} FROM course_piece p
  WHERE NOT EXISTS (SELECT 1 FROM change_log WHERE entity = 'course_piece' AND key = ${KEY('p')})
  ORDER BY p.hash, p.number`

/** Name, size and number of chunks of a content that is not stored yet. */
export function contentOf(hash: string, content: Uint8Array): CourseContent {
  return { hash, bytes: content.length, pieces: Math.ceil(content.length / PIECE_BYTES) }
}

/** Stores the chunks that are missing. */
export function putChunks(connection: Connection, hash: string, content: Uint8Array): void {
  for (let number = 0; number * PIECE_BYTES < content.length; number++)
    connection.run(
      'INSERT OR IGNORE INTO course_piece (hash, number, bytes) VALUES (?, ?, ?)',
      hash,
      number,
      content.subarray(number * PIECE_BYTES, (number + 1) * PIECE_BYTES),
    )
}

/** Content joined from its chunks; null if some are missing. */
export function joinChunks(
  connection: Connection,
  { hash, bytes }: Pick<CourseContent, 'hash' | 'bytes'>,
): Buffer<ArrayBuffer> | null {
  const pieces = connection.all<{ bytes: Buffer }>(
    'SELECT bytes FROM course_piece WHERE hash = ? ORDER BY number',
    hash,
  )
  const content = Buffer.concat(pieces.map((piece) => piece.bytes))
  return content.length === bytes ? content : null
}

/** True if `joinChunks` would return the content; does not read it. */
export function hasChunks(connection: Connection, { hash, bytes }: Pick<CourseContent, 'hash' | 'bytes'>): boolean {
  const found = connection.get<{ bytes: number | null }>(
    'SELECT sum(length(bytes)) AS bytes FROM course_piece WHERE hash = ?',
    hash,
  )
  return found?.bytes === bytes
}

/** Deletes chunks that belong neither to the map nor to the photo. */
export function dropUnusedChunks(connection: Connection): void {
  connection.run(
    `DELETE FROM course_piece WHERE hash NOT IN (SELECT hash FROM course_photo
       UNION SELECT drawing ->> 'hash' FROM course WHERE drawing IS NOT NULL)`,
  )
}

/** Enters the next chunk in the change log once the hub has all up to `throughSeq`: other changes must not wait. */
export function queueNextChunk(connection: Connection, throughSeq: number): void {
  const isUnderWay =
    connection.get(`SELECT 1 FROM change_log WHERE entity = 'course_piece' AND seq > ?`, throughSeq) !== undefined
  if (!isUnderWay) connection.run(`INSERT INTO change_log (entity, key) ${UNLOGGED} LIMIT 1`)
}

/** Enters all remaining chunks in the change log together, for a file that is carried to the hub. */
export const queueAllChunks = write(
  (connection: Connection, _: Record<string, never>): null => {
    connection.run(`INSERT INTO change_log (entity, key) ${UNLOGGED}`)
    return null
  },
  { audit: null },
)

/** Number of chunks that are not in the change log yet. */
export function countUnqueuedChunks(connection: Connection): number {
  return connection.get<{ pieces: number }>(`SELECT count(*) AS pieces FROM (${UNLOGGED})`)?.pieces ?? 0
}
