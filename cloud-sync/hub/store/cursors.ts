import { NO_CURSOR, SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import type { SyncCursors, SyncStream } from '#shared/wire/replication/sync.ts'
import type { Sql } from './database/database.ts'
import { insertRows } from './database/insert-rows.ts'

/** Returns the cursors of an epoch; a stream without a row is at its beginning. */
export async function readCursors(sql: Sql, siteId: string, epoch: string): Promise<SyncCursors> {
  const rows = await sql.all<CursorRow>('SELECT stream, seq, hash FROM sync_cursor WHERE site_id = $1 AND epoch = $2', [
    siteId,
    epoch,
  ])
  return cursorsOf(rows)
}

export interface CursorRow {
  readonly stream: SyncStream
  readonly seq: number
  readonly hash: string
}

export function cursorsOf(rows: readonly CursorRow[]): SyncCursors {
  // covers all streams
  const cursors = Object.fromEntries(SYNC_STREAMS.map((stream) => [stream, NO_CURSOR])) as SyncCursors
  for (const { stream, seq, hash } of rows) cursors[stream] = { seq, hash }
  return cursors
}

/** Inserts the cursors of an epoch that has none. */
export async function insertCursors(sql: Sql, siteId: string, epoch: string, nowMs: number): Promise<void> {
  await insertRows(
    sql,
    'sync_cursor',
    ['site_id', 'epoch', 'stream', 'seq', 'hash', 'row_count', 'moved_at_ms'],
    SYNC_STREAMS.map((stream) => [siteId, epoch, stream, NO_CURSOR.seq, NO_CURSOR.hash, 0, nowMs]),
  )
}

export interface CursorMove {
  readonly stream: SyncStream
  readonly from: { readonly seq: number; readonly hash: string }
  readonly to: { readonly seq: number; readonly hash: string }
  readonly rows: number
}

/** Moves the cursor by compare-and-set; returns false if it is not at `move.from`. */
export async function moveCursor(
  sql: Sql,
  of: { readonly siteId: string; readonly epoch: string },
  { stream, from, to, rows }: CursorMove,
  nowMs: number,
): Promise<boolean> {
  const moved = await sql.run(
    `UPDATE sync_cursor SET seq = $6, hash = $7, row_count = row_count + $8, moved_at_ms = $9
      WHERE site_id = $1 AND epoch = $2 AND stream = $3 AND seq = $4 AND hash = $5`,
    [of.siteId, of.epoch, stream, from.seq, from.hash, to.seq, to.hash, rows, nowMs],
  )
  return moved === 1
}

/** Sum of the cursors of an epoch, and the server that reported it. */
export interface CursorTotal {
  readonly siteId: string
  readonly epoch: string
  readonly total: number
  /** Differs after each start, and after a standby became the primary. */
  readonly server: string
}

const SERVER = `CONCAT(pg_postmaster_start_time(), ' ', pg_is_in_recovery())`

/** Returns the identity of the current server, as in `CursorTotal`. */
export async function serverOf(sql: Sql): Promise<string> {
  const row = await sql.get<{ server: string }>(`SELECT ${SERVER} AS server`)
  return row?.server ?? ''
}

/** Returns the totals of all epochs of these sites; null selects all sites. */
export function cursorTotals(sql: Sql, siteIds: readonly string[] | null): Promise<CursorTotal[]> {
  const [where, values] = siteIds === null ? ['', []] : ['WHERE site_id = ANY($1)', [siteIds]]
  return sql.all<CursorTotal>(
    `SELECT site_id AS "siteId", epoch, SUM(seq) AS total, ${SERVER} AS server
       FROM sync_cursor ${where} GROUP BY site_id, epoch`,
    values,
  )
}

/** Returns the sum used as `CursorTotal.total`. */
export function totalOf(cursors: SyncCursors): number {
  return SYNC_STREAMS.reduce((sum, stream) => sum + cursors[stream].seq, 0)
}
