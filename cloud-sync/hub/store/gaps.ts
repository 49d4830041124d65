import type { Gap } from '#shared/wire/sync.ts'
import type { Sql } from './database/database.ts'

/** Keeps in mind what will never come. */
export async function insertGap(
  sql: Sql,
  siteId: string,
  noteId: string,
  { stream, from_ms, to_ms, count, reason }: Gap,
  atMs: number,
): Promise<void> {
  await sql.run(
    `INSERT INTO gap (site_id, note_id, stream, from_ms, to_ms, row_count, reason, at_ms)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
    [siteId, noteId, stream, from_ms, to_ms, count, reason, atMs],
  )
}
