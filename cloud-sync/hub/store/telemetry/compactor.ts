import { describeError } from '#shared/errors.ts'
import { decodeRuns, type TelemetryRun } from '#shared/telemetry/runs.ts'
import type { Database } from '../database/database.ts'
import { insertQuarantine } from '../quarantine.ts'
import { inSite } from '../sites.ts'
import { addRuns } from './device-telemetry.ts'
import { deleteSegments, oldestSegments, type SegmentBacklog } from './segments.ts'

/** Rows of one transaction: the site waits for it, and the rows are all in memory. */
const ROWS_AT_ONCE = 131_072
/** From this number of rows on, blocks are worth their heads. */
const ROWS_PER_DEVICE = 512
const OLDEST_MS = 86_400_000
/** Each read and each erasure goes through all segments, so their number is bounded. */
const MAX_SEGMENTS = 2048

/** Whether the segments of a site with so many devices should become blocks now. */
export function isDue({ rows, segments, oldestMs }: SegmentBacklog, devices: number, nowMs: number): boolean {
  if (segments >= MAX_SEGMENTS) return true
  return rows >= ROWS_PER_DEVICE * Math.max(1, devices) || oldestMs < nowMs - OLDEST_MS
}

/**
 * Compacts the oldest segments of a site into blocks, by device. Returns how many segments it compacted.
 * Any hub may do it at any time.
 */
export async function compactSegments(
  database: Database,
  siteId: string,
  nowMs: number,
  rows = ROWS_AT_ONCE,
): Promise<number> {
  return inSite(database, siteId, async (sql) => {
    const segments = await oldestSegments(sql, siteId, rows)
    const runs: TelemetryRun[] = []
    for (const { epoch, to, body } of segments) {
      try {
        for (const run of decodeRuns(body)) runs.push(run)
      } catch (error) {
        // it could be read when it came
        const reason = `the segment is damaged in the database: ${describeError(error)}`
        await insertQuarantine(sql, siteId, epoch, [{ stream: 'telemetry', from: to, to, reason, body }], nowMs)
      }
    }
    await addRuns(sql, siteId, runs)
    await deleteSegments(sql, siteId, segments)
    return segments.length
  })
}
