import type { CourseContent } from '#shared/wire/course.ts'
import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'

/**
 * Of each piece of a content: as base64, 64 KB of a request to the head office, during which carts' states wait on a
 * slow line. The migration that made the table has the same number.
 */
export const PIECE_BYTES = 49_152
/** The key of a piece as the head office has it: in order of its number. */
const KEY = (table: string) => `printf('%s/%04d', ${table}.hash, ${table}.number)`

export const courseChunkTable = table('course_piece', {
  care: {
    what: 'the photo and a large drawing of the course, in pieces',
    size: 'large',
    isRemembered: true,
    meaning: 'The one of which pieces are missing is not shown until an admin uploads it again.',
  },
  replicated: {
    columns: ['hash', 'number', 'bytes'],
    blobs: ['bytes'],
    key: KEY('t'),
    // the head office is told of one after the other
    sentWith: `JOIN change_log told ON told.entity = 'course_piece' AND told.key = ${KEY('t')}`,
    where: 't.hash = ? AND t.number = ?',
    valuesOf: (key) => [key.split('/', 1)[0] ?? '', Number(key.slice(key.indexOf('/') + 1))],
  },
  noun: 'course',
})

const UNTOLD = `SELECT 'course_piece', ${KEY('p')} FROM course_piece p
  WHERE NOT EXISTS (SELECT 1 FROM change_log WHERE entity = 'course_piece' AND key = ${KEY('p')})
  ORDER BY p.hash, p.number`

/** The name, the size and the pieces of a content, before it is stored. */
export function contentOf(hash: string, content: Uint8Array): CourseContent {
  return { hash, bytes: content.length, pieces: Math.ceil(content.length / PIECE_BYTES) }
}

/** Stores what is not there already. */
export function putChunks(connection: Connection, hash: string, content: Uint8Array): void {
  for (let number = 0; number * PIECE_BYTES < content.length; number++)
    connection.run(
      'INSERT OR IGNORE INTO course_piece (hash, number, bytes) VALUES (?, ?, ?)',
      hash,
      number,
      content.subarray(number * PIECE_BYTES, (number + 1) * PIECE_BYTES),
    )
}

/** The content of its pieces; null while not all of them are there. */
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

/** Whether `joinChunks` would find it, without reading it. */
export function hasChunks(connection: Connection, { hash, bytes }: Pick<CourseContent, 'hash' | 'bytes'>): boolean {
  const found = connection.get<{ bytes: number | null }>(
    'SELECT sum(length(bytes)) AS bytes FROM course_piece WHERE hash = ?',
    hash,
  )
  return found?.bytes === bytes
}

/** Deletes the pieces of what is neither the drawing nor the photo any more. */
export function dropUnusedChunks(connection: Connection): void {
  connection.run(
    `DELETE FROM course_piece WHERE hash NOT IN (SELECT hash FROM course_photo
       UNION SELECT drawing ->> 'hash' FROM course WHERE drawing IS NOT NULL)`,
  )
}

/**
 * Lets the next piece into the changes that the head office is to be told, once it has those up to `throughSeq`: one
 * after the other, so that what happens meanwhile has not to wait for megabytes.
 */
export function queueNextChunk(connection: Connection, throughSeq: number): void {
  const isUnderWay =
    connection.get(`SELECT 1 FROM change_log WHERE entity = 'course_piece' AND seq > ?`, throughSeq) !== undefined
  if (!isUnderWay) connection.run(`INSERT INTO change_log (entity, key) ${UNTOLD} LIMIT 1`)
}

/** Lets all pieces in at once: for a file that is carried to the head office. */
export const queueAllChunks = write(
  (connection: Connection, _: Record<string, never>): null => {
    connection.run(`INSERT INTO change_log (entity, key) ${UNTOLD}`)
    return null
  },
  { audit: null },
)

/** How many pieces are still to enter the changes. */
export function countUnqueuedChunks(connection: Connection): number {
  return connection.get<{ pieces: number }>(`SELECT count(*) AS pieces FROM (${UNTOLD})`)?.pieces ?? 0
}
