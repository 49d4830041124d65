import { encodeBlock } from '#shared/telemetry/block.ts'
import { BATTERY, GPS, indexAtOrAfter, type RecordKind, type Records } from '#shared/telemetry/records.ts'
import { decodeRuns, encodeRuns, type TelemetryRun } from '#shared/telemetry/runs.ts'
import type { Erase } from '#shared/wire/replication/sync.ts'
import type { Sql } from '../database/database.ts'
import { blockSpans, type DeviceOfSite, insertBlocks, readBlocks } from './blocks.ts'
import { addRuns } from './device-telemetry.ts'
import { lastMs } from './merged-records.ts'
import { deleteSegments, replaceSegment, segmentsBetween } from './segments.ts'

/** Streams of a device whose records are erased. */
export interface ErasedStream {
  readonly hardwareId: string
  readonly streams: readonly ('gps' | 'battery')[]
}

/** Stores an erasure: parts that were built before it may still arrive. */
export async function insertErasure(
  sql: Sql,
  siteId: string,
  epoch: string,
  noteId: string,
  erase: Erase,
  at: { readonly atMs: number; readonly nowMs: number },
): Promise<void> {
  await sql.run(
    `INSERT INTO erasure (site_id, note_id, epoch, hardware_id, streams, telemetry_through, history_through,
                          at_ms, received_at_ms)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING`,
    [
      siteId,
      noteId,
      epoch,
      erase.hardware_id,
      JSON.stringify(erase.kinds),
      erase.telemetry_through,
      erase.history_through,
      at.atMs,
      at.nowMs,
    ],
  )
}

/** Returns the erasures that apply to parts of this epoch that end at this position. */
export async function erasedFrom(
  sql: Sql,
  siteId: string,
  epoch: string,
  stream: 'telemetry' | 'history',
  to: number,
): Promise<ErasedStream[]> {
  const rows = await sql.all<{ hardwareId: string; streams: string }>(
    `SELECT hardware_id AS "hardwareId", streams FROM erasure
      WHERE site_id = $1 AND epoch = $2 AND ${stream}_through >= $3`,
    [siteId, epoch, to],
  )
  return rows.map(readStreams)
}

/** Returns the erasures since this time (clock of the hub), whatever their position. */
export async function erasedSince(sql: Sql, siteId: string, sinceMs: number): Promise<ErasedStream[]> {
  const rows = await sql.all<{ hardwareId: string; streams: string }>(
    'SELECT hardware_id AS "hardwareId", streams FROM erasure WHERE site_id = $1 AND received_at_ms >= $2',
    [siteId, sinceMs],
  )
  return rows.map(readStreams)
}

export function withoutErased<T extends { readonly hardwareId: string; readonly stream: 'gps' | 'battery' }>(
  items: readonly T[],
  erased: readonly ErasedStream[],
): readonly T[] {
  if (erased.length === 0) return items
  return items.filter(
    ({ hardwareId, stream }) => !erased.some((each) => each.hardwareId === hardwareId && each.streams.includes(stream)),
  )
}

/** Key of archived blocks: the note that erased them. */
export interface ArchivedBlocks {
  readonly noteId: string
  readonly nowMs: number
}

/**
 * Removes the records of a device, all or those up to a time, from blocks and segments, and with `archive` keeps them
 * for `restoreErased`. Inside the site's lock.
 */
export async function eraseRecords(
  sql: Sql,
  siteId: string,
  { hardwareId, streams }: ErasedStream,
  {
    throughMs = Number.MAX_SAFE_INTEGER,
    archive,
  }: { throughMs?: number | undefined; archive?: ArchivedBlocks | undefined } = {},
): Promise<void> {
  const erased: TelemetryRun[] = []
  for (const segment of await segmentsBetween(sql, siteId, { fromMs: 0, toMs: throughMs })) {
    const runs = decodeRuns(segment.body)
    const kept = withoutErased(runs, [{ hardwareId, streams }])
    if (kept.length === runs.length) continue
    const ofDevice = runs.filter((run) => !kept.includes(run)).map((run) => splitRun(run, throughMs))
    erased.push(...ofDevice.flatMap(({ before }) => before))
    const left = [...kept, ...ofDevice.flatMap(({ behind }) => behind)]
    const rows = left.reduce((sum, { records }) => sum + records.atMs.length, 0)
    if (rows === 0) await deleteSegments(sql, siteId, [segment])
    else await replaceSegment(sql, siteId, segment, encodeRuns(left), rows)
  }
  // like a compaction, so that only blocks need to be archived
  if (archive !== undefined) await addRuns(sql, siteId, erased)
  const of = { siteId, hardwareId }
  if (streams.includes('gps')) await eraseBlocks(sql, of, GPS, throughMs, archive)
  if (streams.includes('battery')) await eraseBlocks(sql, of, BATTERY, throughMs, archive)
}

/** Splits a run into its records up to a time, and those after it; each side has at most one run. */
function splitRun(run: TelemetryRun, throughMs: number): { before: TelemetryRun[]; behind: TelemetryRun[] } {
  const { atMs } = run.records
  const at = indexAtOrAfter(atMs, throughMs + 1)
  return { before: pieceOf(run, 0, at), behind: pieceOf(run, at, atMs.length) }
}

function pieceOf(run: TelemetryRun, from: number, to: number): TelemetryRun[] {
  if (from === to) return []
  return run.stream === 'gps'
    ? [{ ...run, records: GPS.view(run.records, from, to) }]
    : [{ ...run, records: BATTERY.view(run.records, from, to) }]
}

async function eraseBlocks<R extends Records>(
  sql: Sql,
  of: DeviceOfSite,
  kind: RecordKind<R>,
  throughMs: number,
  archive: ArchivedBlocks | undefined,
): Promise<void> {
  const { siteId, hardwareId } = of
  const across = (await blockSpans(sql, of, kind.name, { fromMs: throughMs + 1, toMs: throughMs })).filter(
    (span) => span.firstMs <= throughMs,
  )
  const read = across.length === 0 ? new Map<number, R>() : await readBlocks(sql, of, kind, across)
  const which = [siteId, hardwareId, kind.name, throughMs]
  if (archive !== undefined) {
    await sql.run(
      `INSERT INTO erased_block
           (site_id, note_id, stream, last_ms, hardware_id, erased_at_ms, first_ms, record_count, body)
         SELECT site_id, CAST($5 AS TEXT), stream, last_ms, hardware_id, CAST($6 AS BIGINT), first_ms, record_count,
         body
           FROM telemetry_block WHERE site_id = $1 AND hardware_id = $2 AND stream = $3 AND first_ms <= $4`,
      [...which, archive.noteId, archive.nowMs],
    )
  }
  await sql.run(
    'DELETE FROM telemetry_block WHERE site_id = $1 AND hardware_id = $2 AND stream = $3 AND first_ms <= $4',
    which,
  )
  for (const records of read.values()) {
    const { atMs } = records
    const left = kind.view(records, indexAtOrAfter(atMs, throughMs + 1), atMs.length)
    const span = { firstMs: left.atMs[0] ?? 0, lastMs: lastMs(left) }
    const count = left.atMs.length
    await insertBlocks(sql, siteId, [{ hardwareId, stream: kind.name, ...span, count, body: encodeBlock(kind, left) }])
  }
}

function readStreams({ hardwareId, streams }: { hardwareId: string; streams: string }): ErasedStream {
  // written by `insertErasure`
  return { hardwareId, streams: JSON.parse(streams) as ('gps' | 'battery')[] }
}
