import { hash } from 'node:crypto'
import type { SyncStream } from '#shared/wire/replication/sync.ts'
import type { Sql } from './database/database.ts'
import { insertRows } from './database/insert-rows.ts'

/** Undamaged part or row that the hub could not read or apply, unchanged. */
export interface QuarantinedItem {
  readonly stream: SyncStream
  readonly from: number
  readonly to: number
  readonly reason: string
  readonly body: Uint8Array
}

export async function quarantineSize(sql: Sql, siteId: string): Promise<{ pieces: number; bytes: number }> {
  const size = await sql.get<{ pieces: number; bytes: number }>(
    'SELECT COUNT(*) AS pieces, COALESCE(SUM(LENGTH(body)), 0) AS bytes FROM quarantine WHERE site_id = $1',
    [siteId],
  )
  return size ?? { pieces: 0, bytes: 0 }
}

/** Stores items; an item that arrives again is stored once. */
export async function insertQuarantine(
  sql: Sql,
  siteId: string,
  epoch: string,
  pieces: readonly QuarantinedItem[],
  nowMs: number,
): Promise<void> {
  await insertRows(
    sql,
    'quarantine',
    ['site_id', 'quarantine_id', 'epoch', 'stream', 'seq_from', 'seq_to', 'reason', 'received_at_ms', 'body'],
    pieces.map(({ stream, from, to, reason, body }) => [
      siteId,
      hash('sha256', body, 'hex'),
      epoch,
      stream,
      from,
      to,
      storable(reason.slice(0, 500)),
      nowMs,
      body,
    ]),
  )
}

/** Reasons quote data from the gateway, which may contain any character. */
function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed()
}
