import type { Sql } from './database/database.ts'

/** What a row takes besides its body, about: its keys, and their indexes. */
export const ROW_BYTES = 300

/** What a record takes in a block, about; a part that repeats itself has fewer bytes until it is compacted. */
export const RECORD_BYTES = 8

/** What a site can make the hub keep; intents and keys are made at the hub. */
const TABLES_WITH_BODY = [
  'telemetry_block',
  'erased_block',
  'erased_device',
  'event',
  'entity',
  'audit_entry',
  'site_latest',
  'quarantine',
]
const TABLES_WITHOUT_BODY = ['gap', 'erasure', 'site_epoch', 'sync_cursor', 'audit', 'audit_resend']

// one statement sees one moment: what moves between tables meanwhile is counted once
const COUNT = `SELECT CAST(SUM(bytes) AS BIGINT) AS bytes FROM (${[
  countOf('segment', `GREATEST(octet_length(body), row_count * ${RECORD_BYTES})`),
  ...TABLES_WITH_BODY.map((table) => countOf(table, 'octet_length(body)')),
  ...TABLES_WITHOUT_BODY.map((table) => countOf(table, '0')),
].join(' UNION ALL ')}) AS sizes`

function countOf(table: string, bytes: string): string {
  return `SELECT COUNT(*) * ${ROW_BYTES} + COALESCE(SUM(${bytes}), 0) AS bytes FROM ${table} WHERE site_id = $1`
}

/** What the hub keeps of a site, in bytes. */
export interface StoredBytes {
  readonly siteId: string
  /** As counted, and what came since then: never less than there is. */
  readonly bytes: number
  readonly countedBytes: number
  /** 0 before it was counted for the first time. */
  readonly countedAtMs: number
}

const COLUMNS = `site_id AS "siteId", stored_bytes AS bytes, counted_bytes AS "countedBytes",
  counted_at_ms AS "countedAtMs"`

/** Of all sites, by id. */
export function storedBytesOfAll(sql: Sql): Promise<StoredBytes[]> {
  return sql.all<StoredBytes>(`SELECT ${COLUMNS} FROM site ORDER BY site_id`)
}

/** Of one site; 0 for one that does not exist. */
export async function storedBytesOf(sql: Sql, siteId: string): Promise<number> {
  const row = await sql.get<{ bytes: number }>('SELECT stored_bytes AS bytes FROM site WHERE site_id = $1', [siteId])
  return row?.bytes ?? 0
}

/** More of a site is kept. Inside its lock. */
export async function addStoredBytes(sql: Sql, siteId: string, bytes: number): Promise<void> {
  if (bytes === 0) return
  await sql.run('UPDATE site SET stored_bytes = stored_bytes + $2 WHERE site_id = $1', [siteId, bytes])
}

/**
 * Counts what is kept of a site, while others go on writing: what comes meanwhile is counted twice until the next time,
 * and never not at all. Returns the figure; undefined when another hub has counted meanwhile.
 */
export async function countStoredBytes(sql: Sql, siteId: string, nowMs: number): Promise<number | undefined> {
  const before = await sql.get<StoredBytes>(`SELECT ${COLUMNS} FROM site WHERE site_id = $1`, [siteId])
  if (before === undefined) return undefined
  const counted = await sql.get<{ bytes: number }>(COUNT, [siteId])
  const row = await sql.get<{ bytes: number }>(
    `UPDATE site SET stored_bytes = stored_bytes - $2 + $3, counted_bytes = $3, counted_at_ms = $4
      WHERE site_id = $1 AND stored_bytes >= $2 AND counted_at_ms = $5 RETURNING stored_bytes AS bytes`,
    // another count of the same millisecond must not pass for this one
    [siteId, before.bytes, counted?.bytes ?? 0, nowMs === before.countedAtMs ? nowMs + 1 : nowMs, before.countedAtMs],
  )
  return row?.bytes
}
