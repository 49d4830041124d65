import { describeError } from '#shared/errors.ts'
import { decodeRuns, type TelemetryRun } from '#shared/telemetry/runs.ts'
import type { Database } from '../database/database.ts'
import { insertQuarantine } from '../quarantine.ts'
import { inSite } from '../sites.ts'
import { addRuns } from './device-telemetry.ts'
import { deleteSegments, oldestSegments, type SegmentBacklog } from './segments.ts'

/** Rows per transaction: the site waits for it, and all rows are in memory. */
const ROWS_AT_ONCE = 131_072
/** Number of rows from which blocks are worth their headers. */
const ROWS_PER_DEVICE = 512
const OLDEST_MS = 86_400_000
/** Limits the number of segments, since each read and each erasure goes through all of them. */
const MAX_SEGMENTS = 2048

/** True if the segments of a site with this number of devices should become blocks now. */
export function isDue({ rows, segments, oldestMs }: SegmentBacklog, devices: number, nowMs: number): boolean {
  if (segments >= MAX_SEGMENTS) return true
  return rows >= ROWS_PER_DEVICE * Math.max(1, devices) || oldestMs < nowMs - OLDEST_MS
}

/** Compacts a site's oldest segments into blocks, by device. Returns their number. Any hub may do it at any time. */
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
        // it was readable on arrival
        const reason = `the segment is damaged in the database: ${describeError(error)}`
        await insertQuarantine(sql, siteId, epoch, [{ stream: 'telemetry', from: to, to, reason, body }], nowMs)
      }
    }
    await addRuns(sql, siteId, runs)
    await deleteSegments(sql, siteId, segments)
    return segments.length
  })
}
