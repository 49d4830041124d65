import { BATTERY, GPS, indexAtOrAfter, type RecordKind, type Records } from '#shared/telemetry/records.ts'
import { decodeRuns } from '#shared/telemetry/runs.ts'
import type { Sql } from '../database/database.ts'
import { type BlockSpan, blockSpans, type DeviceOfSite, devicesWithBlocks, readBlocks } from './blocks.ts'
import { mergeAll } from './merged-records.ts'
import { segmentsBetween } from './segments.ts'

export interface TelemetryRange {
  /** Both ends are included. */
  readonly fromMs: number
  readonly toMs: number
  /** End from which `limit` counts. */
  readonly order?: 'asc' | 'desc'
  readonly limit?: number
}

const BLOCKS_AT_ONCE = 16

/**
 * Returns the records of a device between two times, always oldest first, from blocks and segments. A caller that reads
 * several pages passes the result of `pendingTelemetry` with each: computing it reads the segments of all devices.
 */
export async function readTelemetry<R extends Records>(
  sql: Sql,
  kind: RecordKind<R>,
  of: DeviceOfSite,
  range: TelemetryRange,
  pending?: readonly R[],
): Promise<R> {
  const { order = 'asc', limit = Number.POSITIVE_INFINITY } = range
  // segments first: records that a compaction moves meanwhile are then found in the blocks
  const pieces = (pending ?? (await pendingTelemetry(sql, kind, of, range))).map((each) => clip(kind, each, range))
  const spans = await blockSpans(sql, of, kind.name, range)
  if (order === 'desc') spans.sort((a, b) => b.lastMs - a.lastMs)
  for (let at = 0; at < spans.length; at += BLOCKS_AT_ONCE) {
    const some = spans.slice(at, at + BLOCKS_AT_ONCE)
    const blocks = await readBlocks(sql, of, kind, some)
    for (const { lastMs } of some) {
      const records = blocks.get(lastMs)
      if (records !== undefined) pieces.push(clip(kind, records, range))
    }
    const next = spans[at + BLOCKS_AT_ONCE]
    if (next !== undefined && Number.isFinite(limit) && countFinal(pieces, next, order) >= limit) break
  }
  const all = mergeAll(kind, pieces)
  const { length } = all.atMs
  return order === 'asc'
    ? kind.view(all, 0, Math.min(limit, length))
    : kind.view(all, Math.max(0, length - limit), length)
}

/** Returns the devices with records of a stream in a time range, or near it. */
export async function devicesBetween(
  sql: Sql,
  siteId: string,
  stream: 'gps' | 'battery',
  range: { readonly fromMs: number; readonly toMs: number },
): Promise<Set<string>> {
  const devices = new Set<string>()
  for (const { body } of await segmentsBetween(sql, siteId, range)) {
    for (const run of decodeRuns(body)) if (run.stream === stream) devices.add(run.hardwareId)
  }
  for (const hardwareId of await devicesWithBlocks(sql, siteId, stream, range)) devices.add(hardwareId)
  return devices
}

/** Returns a lower bound for the number of different records before all those not yet read. */
function countFinal(pieces: readonly Records[], next: BlockSpan, order: 'asc' | 'desc'): number {
  const times = new Set<number>()
  for (const { atMs } of pieces) {
    for (const timeMs of atMs) {
      if (order === 'asc' ? timeMs < next.firstMs : timeMs > next.lastMs) times.add(timeMs)
    }
  }
  return times.size
}

/** Returns the records of a device that are in no block yet. */
export async function pendingTelemetry<R extends Records>(
  sql: Sql,
  kind: RecordKind<R>,
  { siteId, hardwareId }: DeviceOfSite,
  range: TelemetryRange,
): Promise<R[]> {
  const pieces: R[] = []
  for (const { body } of await segmentsBetween(sql, siteId, range)) {
    for (const run of decodeRuns(body)) {
      if (run.hardwareId !== hardwareId || run.stream !== kind.name) continue
      // the name of a kind determines the type of its records
      pieces.push(clip(kind, run.records as unknown as R, range))
    }
  }
  return pieces
}

function clip<R extends Records>(kind: RecordKind<R>, records: R, { fromMs, toMs }: TelemetryRange): R {
  const from = indexAtOrAfter(records.atMs, fromMs)
  return kind.view(records, from, indexAtOrAfter(records.atMs, Math.floor(toMs) + 1, from))
}

export async function hasTelemetry(sql: Sql, device: DeviceOfSite): Promise<boolean> {
  const newest = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, order: 'desc', limit: 1 } as const
  if ((await readTelemetry(sql, GPS, device, newest)).atMs.length > 0) return true
  return (await readTelemetry(sql, BATTERY, device, newest)).atMs.length > 0
}
