import type { Sql } from './database/database.ts'

/** Row given back to its gateway; `place` is its position in the order of its kind. */
export interface KeptRow {
  readonly place: readonly (string | number)[]
  readonly table: string
  readonly key: string
  /** JSON. */
  readonly body: string
}

/** Returns the next existing entities after a table and key. */
export async function entitiesAfter(
  sql: Sql,
  siteId: string,
  [table = '', key = '']: readonly (string | number)[],
  limit: number,
): Promise<KeptRow[]> {
  const rows = await sql.all<Omit<KeptRow, 'place'>>(
    `SELECT entity_table AS "table", entity_key AS "key", body FROM entity
      WHERE site_id = $1 AND (entity_table, entity_key) > ($2, $3) AND body IS NOT NULL
        AND entity_table <> 'audit_entry'
      ORDER BY entity_table, entity_key LIMIT $4`,
    [siteId, table, key, limit],
  )
  return rows.map((row) => ({ ...row, place: [row.table, row.key] }))
}

/** Returns the next entries of the audit log, oldest first; those deleted for their age are lost. */
export async function auditEntriesAfter(
  sql: Sql,
  siteId: string,
  [atMs = Number.MIN_SAFE_INTEGER, seq = 0, id = '']: readonly (string | number)[],
  limit: number,
): Promise<KeptRow[]> {
  const rows = await sql.all<{ atMs: number; seq: number; key: string; body: string }>(
    `SELECT at_ms AS "atMs", seq, entry_id AS "key", body FROM audit_entry
      WHERE site_id = $1 AND (at_ms, seq, entry_id) > ($2, $3, $4) AND body IS NOT NULL
      ORDER BY at_ms, seq, entry_id LIMIT $5`,
    [siteId, atMs, seq, id, limit],
  )
  return rows.map(({ atMs: at, seq: n, key, body }) => ({
    table: 'audit_entry',
    key,
    body,
    place: [at, n, key],
  }))
}

/** Returns the next events of a stream, oldest first; those of one instant in the order in which they were stored. */
export async function eventsAfter(
  sql: Sql,
  siteId: string,
  stream: string,
  [atMs = Number.MIN_SAFE_INTEGER, seq = 0, id = '']: readonly (string | number)[],
  limit: number,
): Promise<KeptRow[]> {
  const rows = await sql.all<{ atMs: number; seq: number; key: string; body: string }>(
    `SELECT at_ms AS "atMs", COALESCE(seq, 0) AS seq, event_id AS "key", body FROM event
      WHERE site_id = $1 AND stream = $2 AND (at_ms, COALESCE(seq, 0), event_id) > ($3, $4, $5) AND at_ms >= $3
      ORDER BY at_ms, COALESCE(seq, 0), event_id LIMIT $6`,
    [siteId, stream, atMs, seq, id, limit],
  )
  return rows.map(({ atMs: at, seq: n, key, body }) => ({
    table: stream,
    key,
    body,
    place: [at, n, key],
  }))
}

/** Returns the first device at or after `hardwareId` that has blocks of a stream since a time. */
export async function deviceWithBlocks(
  sql: Sql,
  siteId: string,
  stream: string,
  { hardwareId, isIncluded, sinceMs }: { hardwareId: string; isIncluded: boolean; sinceMs: number },
): Promise<string | undefined> {
  const row = await sql.get<{ hardwareId: string }>(
    `SELECT hardware_id AS "hardwareId" FROM telemetry_block
      WHERE site_id = $1 AND stream = $2 AND hardware_id ${isIncluded ? '>=' : '>'} $3 AND last_ms >= $4
      ORDER BY hardware_id LIMIT 1`,
    [siteId, stream, hardwareId, sinceMs],
  )
  return row?.hardwareId
}

/** Returns the facts about a site that requests its data back. */
export function siteToRebuild(
  sql: Sql,
  siteId: string,
): Promise<{ epoch: string | null; lastSeenMs: number | null; backlogRows: number | null } | undefined> {
  return sql.get(
    `SELECT epoch, last_seen_ms AS "lastSeenMs", backlog_rows AS "backlogRows" FROM site WHERE site_id = $1`,
    [siteId],
  )
}

/** Assigns all entities and audit log entries of the site to this epoch, whose database was made from them. */
export async function reassignEpoch(sql: Sql, siteId: string, epoch: string): Promise<void> {
  await sql.run('UPDATE entity SET epoch = $2, seq = 0 WHERE site_id = $1', [siteId, epoch])
  await sql.run('UPDATE audit_entry SET epoch = $2 WHERE site_id = $1 AND body IS NOT NULL', [siteId, epoch])
}
