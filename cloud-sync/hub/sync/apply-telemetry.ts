import type { Sql } from '#hub/store/database/database.ts'
import { addBlocks, addRuns } from '#hub/store/telemetry/device-telemetry.ts'
import { type ErasedStream, erasedFrom, erasedSince, withoutErased } from '#hub/store/telemetry/erasures.ts'
import { insertSegment } from '#hub/store/telemetry/segments.ts'
import type { TelemetryRun } from '#shared/telemetry/runs.ts'
import { encodeRuns } from '#shared/telemetry/runs.ts'
import type { SyncPart } from '#shared/wire/replication/sync.ts'
import type { PartContent } from './part-content.ts'

/** Time for which a resent part that was read before an erasure may still be in flight. */
const RESEND_ON_ITS_WAY_MS = 600_000

/** Upper bound of the overhead of a part, whatever its number of records. */
const HEAD_BYTES = 4096
const RECORD_BYTES = 64

/** Highest positions that the erasures of the epoch reach; null for none. */
export interface Erased {
  readonly telemetryErasedThrough: number | null
  readonly historyErasedThrough: number | null
}

/** Bounds that make each part check for erasures. */
export const EVERYTHING: Erased = {
  telemetryErasedThrough: Number.MAX_SAFE_INTEGER,
  historyErasedThrough: Number.MAX_SAFE_INTEGER,
}

/** Part with records that arrived undamaged. */
export interface TelemetryPart {
  readonly part: SyncPart
  readonly data: Uint8Array
  readonly content: Extract<PartContent, { type: 'runs' | 'blocks' }>
}

/** Stores the records of a part, except those that were erased after it was built. */
export async function applyTelemetry(
  sql: Sql,
  { siteId, epoch, nowMs }: { siteId: string; epoch: string; nowMs: number },
  { part, data, content }: TelemetryPart,
  bounds: Erased,
): Promise<void> {
  const isBehind = part.is_resend !== true && part.to > (furthest(part, bounds) ?? -1)
  const erased = isBehind ? [] : await findErased(sql, siteId, epoch, part, nowMs)
  if (content.type === 'blocks') return addBlocks(sql, siteId, withoutErased(content.blocks, erased))
  const runs = withoutErased(content.runs, erased)
  if (part.stream === 'telemetry' && part.is_resend !== true) {
    // this is the newest encoding: the bytes are stored unchanged, unless some records were erased or they are bloated
    const isKept = runs.length === content.runs.length && data.length <= HEAD_BYTES + part.count * RECORD_BYTES
    const body = isKept ? data : encodeRuns(runs)
    return keepSegment(sql, siteId, epoch, { ...part, body }, runs, nowMs)
  }
  return addRuns(sql, siteId, runs)
}

function furthest({ stream }: SyncPart, bounds: Erased): number | null {
  return stream === 'telemetry' ? bounds.telemetryErasedThrough : bounds.historyErasedThrough
}

async function findErased(
  sql: Sql,
  siteId: string,
  epoch: string,
  { stream, to, is_resend }: SyncPart,
  nowMs: number,
): Promise<ErasedStream[]> {
  if (is_resend === true) return erasedSince(sql, siteId, nowMs - RESEND_ON_ITS_WAY_MS)
  return erasedFrom(sql, siteId, epoch, stream === 'telemetry' ? 'telemetry' : 'history', to)
}

async function keepSegment(
  sql: Sql,
  siteId: string,
  epoch: string,
  { from, to, body }: SyncPart & { body: Uint8Array },
  runs: readonly TelemetryRun[],
  nowMs: number,
): Promise<void> {
  if (runs.length === 0) return
  let rows = 0
  let firstMs = Number.POSITIVE_INFINITY
  let lastMs = Number.NEGATIVE_INFINITY
  for (const { records } of runs) {
    const { atMs } = records
    rows += atMs.length
    firstMs = Math.min(firstMs, atMs[0] ?? firstMs)
    lastMs = Math.max(lastMs, atMs[atMs.length - 1] ?? lastMs)
  }
  await insertSegment(sql, siteId, { epoch, from, to, rows, firstMs, lastMs, body }, nowMs)
}
