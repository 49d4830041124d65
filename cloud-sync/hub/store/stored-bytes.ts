import type { Sql } from './database/database.ts'

/** Approximate bytes of a row in addition to its body: its keys, and their indexes. */
export const ROW_BYTES = 300

/** Approximate bytes of a record in a block; a part with repeated values has fewer until it is compacted. */
export const RECORD_BYTES = 8

/** Tables whose size a site controls; intents and keys are created at the hub. */
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

// one statement has one snapshot: rows that move between tables meanwhile are counted once
const COUNT = `SELECT CAST(SUM(bytes) AS BIGINT) AS bytes FROM (${[
  countOf('segment', `GREATEST(octet_length(body), row_count * ${RECORD_BYTES})`),
  ...TABLES_WITH_BODY.map((table) => countOf(table, 'octet_length(body)')),
  ...TABLES_WITHOUT_BODY.map((table) => countOf(table, '0')),
].join(' UNION ALL ')}) AS sizes`

function countOf(table: string, bytes: string): string {
  return `SELECT COUNT(*) * ${ROW_BYTES} + COALESCE(SUM(${bytes}), 0) AS bytes FROM ${table} WHERE site_id = $1`
}

export interface StoredBytes {
  readonly siteId: string
  /** Last count plus arrivals since then: never less than the real size. */
  readonly bytes: number
  readonly countedBytes: number
  /** 0 before the first count. */
  readonly countedAtMs: number
}

const COLUMNS = `site_id AS "siteId", stored_bytes AS bytes, counted_bytes AS "countedBytes",
  counted_at_ms AS "countedAtMs"`

/** Returns the figures of all sites, by id. */
export function storedBytesOfAll(sql: Sql): Promise<StoredBytes[]> {
  return sql.all<StoredBytes>(`SELECT ${COLUMNS} FROM site ORDER BY site_id`)
}

/** Returns the bytes of one site; 0 if it does not exist. */
export async function storedBytesOf(sql: Sql, siteId: string): Promise<number> {
  const row = await sql.get<{ bytes: number }>('SELECT stored_bytes AS bytes FROM site WHERE site_id = $1', [siteId])
  return row?.bytes ?? 0
}

/** Adds to the stored bytes of a site. Inside its lock. */
export async function addStoredBytes(sql: Sql, siteId: string, bytes: number): Promise<void> {
  if (bytes === 0) return
  await sql.run('UPDATE site SET stored_bytes = stored_bytes + $2 WHERE site_id = $1', [siteId, bytes])
}

/**
 * Counts the stored bytes of a site while other writes continue: rows that arrive meanwhile are counted twice until the
 * next count, and are never missed. Returns the figure; undefined if another hub has counted meanwhile.
 */
export async function countStoredBytes(sql: Sql, siteId: string, nowMs: number): Promise<number | undefined> {
  const before = await sql.get<StoredBytes>(`SELECT ${COLUMNS} FROM site WHERE site_id = $1`, [siteId])
  if (before === undefined) return undefined
  const counted = await sql.get<{ bytes: number }>(COUNT, [siteId])
  const row = await sql.get<{ bytes: number }>(
    `UPDATE site SET stored_bytes = stored_bytes - $2 + $3, counted_bytes = $3, counted_at_ms = $4
      WHERE site_id = $1 AND stored_bytes >= $2 AND counted_at_ms = $5 RETURNING stored_bytes AS bytes`,
    // another count of the same millisecond must not be mistaken for this one
    [siteId, before.bytes, counted?.bytes ?? 0, nowMs === before.countedAtMs ? nowMs + 1 : nowMs, before.countedAtMs],
  )
  return row?.bytes
}
