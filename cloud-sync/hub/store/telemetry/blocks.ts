import { decodeBlock, MAX_BLOCK_RECORDS } from '#shared/telemetry/block.ts'
import type { RecordKind, Records } from '#shared/telemetry/records.ts'
import type { Sql } from '../database/database.ts'
import { insertRows } from '../database/insert-rows.ts'

/** Identity of the device that recorded telemetry. */
export interface DeviceOfSite {
  readonly siteId: string
  readonly hardwareId: string
}

/** Time range of a block's records; no other block of the stream has the same end. */
export interface BlockSpan {
  readonly firstMs: number
  readonly lastMs: number
}

export interface NewBlock extends BlockSpan {
  readonly hardwareId: string
  readonly stream: 'gps' | 'battery'
  readonly count: number
  readonly body: Uint8Array
}

export async function insertBlocks(sql: Sql, siteId: string, blocks: readonly NewBlock[]): Promise<void> {
  await insertRows(
    sql,
    'telemetry_block',
    ['site_id', 'hardware_id', 'stream', 'last_ms', 'first_ms', 'record_count', 'body'],
    blocks.map(({ hardwareId, stream, lastMs, firstMs, count, body }) => [
      siteId,
      hardwareId,
      stream,
      lastMs,
      firstMs,
      count,
      body,
    ]),
  )
}

/** Returns the blocks that overlap a time range, both ends included, by their beginning. */
export async function blockSpans(
  sql: Sql,
  { siteId, hardwareId }: DeviceOfSite,
  stream: string,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): Promise<BlockSpan[]> {
  return sql.all<BlockSpan>(
    `SELECT first_ms AS "firstMs", last_ms AS "lastMs" FROM telemetry_block
      WHERE site_id = $1 AND hardware_id = $2 AND stream = $3 AND last_ms >= $4 AND first_ms <= $5
      ORDER BY first_ms`,
    [siteId, hardwareId, stream, fromMs, toMs],
  )
}

/** Returns the devices with blocks of a stream that overlap a time range, both ends included. */
export async function devicesWithBlocks(
  sql: Sql,
  siteId: string,
  stream: string,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): Promise<string[]> {
  const rows = await sql.all<{ hardwareId: string }>(
    `SELECT DISTINCT hardware_id AS "hardwareId" FROM telemetry_block
      WHERE site_id = $1 AND stream = $2 AND last_ms >= $3 AND first_ms <= $4`,
    [siteId, stream, fromMs, toMs],
  )
  return rows.map(({ hardwareId }) => hardwareId)
}

/** Returns the records of those of these blocks that still exist, by the end of the block. */
export async function readBlocks<R extends Records>(
  sql: Sql,
  { siteId, hardwareId }: DeviceOfSite,
  kind: RecordKind<R>,
  spans: readonly BlockSpan[],
): Promise<Map<number, R>> {
  const rows = await sql.all<{ lastMs: number; body: Uint8Array }>(
    `SELECT last_ms AS "lastMs", body FROM telemetry_block
      WHERE site_id = $1 AND hardware_id = $2 AND stream = $3 AND last_ms = ANY($4)`,
    [siteId, hardwareId, kind.name, spans.map(({ lastMs }) => lastMs)],
  )
  return new Map(rows.map(({ lastMs, body }) => [lastMs, recordsOf(kind, body)]))
}

/** Deletes the blocks with these ends. */
export async function deleteBlocks(
  sql: Sql,
  { siteId, hardwareId }: DeviceOfSite,
  stream: string,
  spans: readonly BlockSpan[],
): Promise<void> {
  await sql.run(
    `DELETE FROM telemetry_block WHERE site_id = $1 AND hardware_id = $2 AND stream = $3 AND last_ms = ANY($4)`,
    [siteId, hardwareId, stream, spans.map(({ lastMs }) => lastMs)],
  )
}

/** Throws like `decodeBlock`. */
export function recordsOf<R extends Records>(kind: RecordKind<R>, block: Uint8Array): R {
  const records = kind.allocate(MAX_BLOCK_RECORDS)
  return kind.view(records, 0, decodeBlock(kind, block, records))
}
