import type { Gap } from '#shared/wire/replication/sync.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'
import type { Database, Sql } from './database/database.ts'
import { inSite } from './sites.ts'

interface Page {
  readonly order: ListOrder
  readonly limit: number
  readonly offset: number
}

export interface GapRow {
  note_id: string
  stream: string
  from_ms: number
  to_ms: number
  row_count: number
  reason: string
  at_ms: number
}

/** Lists gaps by time: records that the gateway deleted before it could send them. */
export function listGaps(sql: Sql, siteId: string, { order, limit, offset }: Page): Promise<GapRow[]> {
  return sql.all<GapRow>(
    `SELECT note_id, stream, from_ms, to_ms, row_count, reason, at_ms FROM gap
     WHERE site_id = $1 ORDER BY at_ms ${order}, note_id LIMIT $2 OFFSET $3`,
    [siteId, limit, offset],
  )
}

export interface QuarantineRow {
  quarantine_id: string
  epoch: string
  stream: string
  seq_from: number
  seq_to: number
  reason: string
  received_at_ms: number
  bytes: number
}

/** Lists the items in quarantine, by time, without their bytes. */
export function listQuarantine(sql: Sql, siteId: string, { order, limit, offset }: Page): Promise<QuarantineRow[]> {
  return sql.all<QuarantineRow>(
    `SELECT quarantine_id, epoch, stream, seq_from, seq_to, reason, received_at_ms, octet_length(body) AS bytes
     FROM quarantine WHERE site_id = $1 ORDER BY received_at_ms ${order}, quarantine_id LIMIT $2 OFFSET $3`,
    [siteId, limit, offset],
  )
}

/** Deletes one item, or all that arrived up to a time. Returns the number of deleted items. */
export function clearQuarantine(
  database: Database,
  siteId: string,
  which: { readonly quarantineId: string } | { readonly throughMs: number },
): Promise<number> {
  return inSite(database, siteId, (sql) =>
    'quarantineId' in which
      ? sql.run('DELETE FROM quarantine WHERE site_id = $1 AND quarantine_id = $2', [siteId, which.quarantineId])
      : sql.run('DELETE FROM quarantine WHERE site_id = $1 AND received_at_ms <= $2', [siteId, which.throughMs]),
  )
}

export async function quarantinedBytes(
  sql: Sql,
  siteId: string,
  quarantineId: string,
): Promise<Uint8Array | undefined> {
  const row = await sql.get<{ body: Uint8Array }>(
    'SELECT body FROM quarantine WHERE site_id = $1 AND quarantine_id = $2',
    [siteId, quarantineId],
  )
  return row?.body
}

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
