import { BATTERY, GPS, type RecordKind, type Records } from '#shared/telemetry/records.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'
import type { Database, Sql, SqlValue } from './database/database.ts'
import { insertRows } from './database/insert-rows.ts'
import type { RemovedDevice } from './latest.ts'
import { inSite } from './sites.ts'
import { blockSpans, type DeviceOfSite, deleteBlocks, readBlocks, recordsOf } from './telemetry/blocks.ts'
import { compactSegments } from './telemetry/compactor.ts'
import { addChunks } from './telemetry/device-telemetry.ts'
import { eraseRecords } from './telemetry/erasures.ts'
import { firstMs, lastMs } from './telemetry/merged-records.ts'

/** Archives the last states of devices that their gateway no longer has. Inside the site's lock. */
export async function archiveDevices(
  sql: Sql,
  siteId: string,
  devices: readonly RemovedDevice[],
  nowMs: number,
): Promise<void> {
  await insertRows(
    sql,
    'erased_device',
    ['site_id', 'hardware_id', 'erased_at_ms', 'at_ms', 'body'],
    devices.map(({ hardwareId, atMs, body }) => [siteId, hardwareId, nowMs, atMs, body]),
  )
}

/** Device, or one stream of its records, as removed by one erasure. */
export interface ErasedItem {
  readonly hardwareId: string
  readonly what: 'device' | 'gps' | 'battery'
  readonly erasedAtMs: number
  readonly records: number
  readonly bytes: number
}

/** Lists the data that a site erased and the hub still has, by the time of erasing. */
export function listErased(
  sql: Sql,
  siteId: string,
  { order, limit, offset }: { order: ListOrder; limit: number; offset: number },
): Promise<ErasedItem[]> {
  return sql.all<ErasedItem>(
    `SELECT hardware_id AS "hardwareId", stream AS what, erased_at_ms AS "erasedAtMs",
            SUM(record_count) AS records, SUM(octet_length(body)) AS bytes
       FROM erased_block WHERE site_id = $1 GROUP BY note_id, hardware_id, stream, erased_at_ms
     UNION ALL
     SELECT hardware_id, 'device', erased_at_ms, 0, octet_length(body) FROM erased_device WHERE site_id = $1
     ORDER BY 3 ${order}, 1, 2 LIMIT $2 OFFSET $3`,
    [siteId, limit, offset],
  )
}

export interface RestoreScope {
  readonly sinceMs: number
  /** Undefined selects all devices. */
  readonly hardwareIds: readonly string[] | undefined
}

export interface Restored {
  devices: number
  records: number
}

/** Blocks per transaction: the site waits for each. */
const BLOCKS_AT_ONCE = 64

/**
 * Restores the data that a site erased since a time (hub clock), some blocks per transaction: after a failure they
 * stay, and another call continues. Erased records win over later arrivals for the same times. Throws `site_not_found`.
 */
export async function restoreErased(
  database: Database,
  siteId: string,
  scope: RestoreScope,
  nowMs: number,
): Promise<Restored> {
  const restored: Restored = { devices: 0, records: 0 }
  restored.devices = await inSite(database, siteId, (sql) => restoreDevices(sql, siteId, scope, nowMs))
  // records that arrived since must be in blocks, to rank below the restored ones
  while ((await compactSegments(database, siteId, nowMs)) > 0);
  let isDone = false
  while (!isDone) {
    const records = await inSite(database, siteId, (sql) => restoreSome(sql, siteId, scope))
    restored.records += records ?? 0
    isDone = records === undefined
  }
  return restored
}

/** Returns the condition for rows of this scope, added to site and time, and all its values. */
function inScope(siteId: string, { sinceMs, hardwareIds }: RestoreScope): { among: string; values: SqlValue[] } {
  if (hardwareIds === undefined) return { among: '', values: [siteId, sinceMs] }
  return { among: 'AND hardware_id = ANY($3)', values: [siteId, sinceMs, hardwareIds] }
}

async function restoreDevices(sql: Sql, siteId: string, scope: RestoreScope, nowMs: number): Promise<number> {
  const { among, values } = inScope(siteId, scope)
  const rows = await sql.all<{ hardwareId: string; atMs: number; body: string }>(
    `SELECT hardware_id AS "hardwareId", at_ms AS "atMs", body FROM erased_device
      WHERE site_id = $1 AND erased_at_ms >= $2 ${among} ORDER BY erased_at_ms`,
    values,
  )
  await sql.run(`DELETE FROM erased_device WHERE site_id = $1 AND erased_at_ms >= $2 ${among}`, values)
  // the first state of each device: from before anything was erased; skips devices that the gateway has again
  return insertRows(
    sql,
    'site_latest',
    ['site_id', 'hardware_id', 'at_ms', 'body', 'restored_at_ms'],
    rows.map(({ hardwareId, atMs, body }) => {
      const offline = JSON.stringify({ ...JSON.parse(body), is_online: false })
      return [siteId, hardwareId, atMs, offline, nowMs]
    }),
  )
}

interface ErasedStreamOfNote {
  readonly noteId: string
  readonly hardwareId: string
  readonly stream: 'gps' | 'battery'
}

/** Restores the newest erasure first, so that an older one wins. Returns the number of records; undefined if none. */
async function restoreSome(sql: Sql, siteId: string, scope: RestoreScope): Promise<number | undefined> {
  const { among, values } = inScope(siteId, scope)
  const next = await sql.get<ErasedStreamOfNote>(
    `SELECT note_id AS "noteId", hardware_id AS "hardwareId", stream FROM erased_block
      WHERE site_id = $1 AND erased_at_ms >= $2 ${among} ORDER BY erased_at_ms DESC, note_id, stream LIMIT 1`,
    values,
  )
  if (next === undefined) return undefined
  const { noteId, stream } = next
  const blocks = await sql.all<{ lastMs: number; body: Uint8Array }>(
    `SELECT last_ms AS "lastMs", body FROM erased_block WHERE site_id = $1 AND note_id = $2 AND stream = $3
      ORDER BY last_ms LIMIT $4`,
    [siteId, noteId, stream, BLOCKS_AT_ONCE],
  )
  const of = { siteId, hardwareId: next.hardwareId }
  const bodies = blocks.map(({ body }) => body)
  const records = await (stream === 'gps' ? putBack(sql, of, GPS, bodies) : putBack(sql, of, BATTERY, bodies))
  await sql.run('DELETE FROM erased_block WHERE site_id = $1 AND note_id = $2 AND stream = $3 AND last_ms <= $4', [
    siteId,
    noteId,
    stream,
    blocks.at(-1)?.lastMs ?? 0,
  ])
  // parts still in flight have these records as well
  await sql.run('DELETE FROM erasure WHERE site_id = $1 AND note_id = $2', [siteId, noteId])
  return records
}

async function putBack<R extends Records>(
  sql: Sql,
  of: DeviceOfSite,
  kind: RecordKind<R>,
  blocks: readonly Uint8Array[],
): Promise<number> {
  const erased = blocks.map((block) => ({ records: recordsOf(kind, block), block }))
  const range = {
    fromMs: Math.min(...erased.map(({ records }) => firstMs(records))),
    toMs: Math.max(...erased.map(({ records }) => lastMs(records))),
  }
  const spans = await blockSpans(sql, of, kind.name, range)
  const since = spans.length === 0 ? [] : [...(await readBlocks(sql, of, kind, spans)).values()]
  if (spans.length > 0) await deleteBlocks(sql, of, kind.name, spans)
  // for records of equal times the first chunk wins
  await addChunks(sql, of, kind, [...erased, ...since.map((records) => ({ records }))])
  return erased.reduce((sum, { records }) => sum + records.atMs.length, 0)
}

/** Deletes data erased up to a time (hub clock) permanently. Returns the number of rows. Throws `site_not_found`. */
export function deleteErased(database: Database, siteId: string, throughMs: number): Promise<number> {
  return inSite(database, siteId, async (sql) => {
    const values = [siteId, throughMs]
    const blocks = await sql.run('DELETE FROM erased_block WHERE site_id = $1 AND erased_at_ms <= $2', values)
    const devices = await sql.run('DELETE FROM erased_device WHERE site_id = $1 AND erased_at_ms <= $2', values)
    return blocks + devices
  })
}

/**
 * Permanently deletes a restored device, its history and archived data. False if its gateway has it. Throws
 * `site_not_found`.
 */
export function deleteRestored(database: Database, siteId: string, hardwareId: string): Promise<boolean> {
  return inSite(database, siteId, async (sql) => {
    const values = [siteId, hardwareId]
    const deleted = await sql.run(
      'DELETE FROM site_latest WHERE site_id = $1 AND hardware_id = $2 AND restored_at_ms IS NOT NULL',
      values,
    )
    if (deleted === 0) return false
    await eraseRecords(sql, siteId, { hardwareId, streams: ['gps', 'battery'] })
    await sql.run('DELETE FROM erased_block WHERE site_id = $1 AND hardware_id = $2', values)
    await sql.run('DELETE FROM erased_device WHERE site_id = $1 AND hardware_id = $2', values)
    return true
  })
}

/** True if `deleteErased` has work to do. */
export async function hasErased(sql: Sql, siteId: string, throughMs: number): Promise<boolean> {
  const row = await sql.get<{ isThere: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM erased_block WHERE site_id = $1 AND erased_at_ms <= $2)
         OR EXISTS (SELECT 1 FROM erased_device WHERE site_id = $1 AND erased_at_ms <= $2) AS "isThere"`,
    [siteId, throughMs],
  )
  return row?.isThere === true
}
