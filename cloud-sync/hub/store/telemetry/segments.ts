import type { Sql } from '../database/database.ts'

/** Part of the telemetry stream as the gateway sent it. */
export interface Segment {
  readonly epoch: string
  readonly from: number
  readonly to: number
  readonly rows: number
  readonly firstMs: number
  readonly lastMs: number
  /** Encoded runs. */
  readonly body: Uint8Array
}

export async function insertSegment(
  sql: Sql,
  siteId: string,
  { epoch, from, to, rows, firstMs, lastMs, body }: Segment,
  nowMs: number,
): Promise<void> {
  await sql.run(
    `INSERT INTO segment (site_id, epoch, seq_to, seq_from, row_count, first_ms, last_ms, received_at_ms, body)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [siteId, epoch, to, from, rows, firstMs, lastMs, nowMs, body],
  )
}

export interface StoredSegment {
  readonly epoch: string
  readonly to: number
  readonly body: Uint8Array
}

/** Returns the segments with records of a time range, both ends included, in order of arrival. */
export async function segmentsBetween(
  sql: Sql,
  siteId: string,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): Promise<StoredSegment[]> {
  return sql.all<StoredSegment>(
    `SELECT epoch, seq_to AS "to", body FROM segment
      WHERE site_id = $1 AND last_ms >= $2 AND first_ms <= $3 ORDER BY received_at_ms, epoch, seq_to`,
    [siteId, fromMs, toMs],
  )
}

/** Returns the oldest segments, with up to `rows` rows in total; at least one if there is any. */
export async function oldestSegments(sql: Sql, siteId: string, rows: number): Promise<StoredSegment[]> {
  const sizes = await sql.all<{ epoch: string; to: number; rows: number }>(
    `SELECT epoch, seq_to AS "to", row_count AS "rows" FROM segment
      WHERE site_id = $1 ORDER BY received_at_ms, epoch, seq_to LIMIT 4096`,
    [siteId],
  )
  let total = 0
  const chosen = sizes.filter((size, i) => {
    const isChosen = i === 0 || total + size.rows <= rows
    total += size.rows
    return isChosen
  })
  const segments: StoredSegment[] = []
  for (const [epoch, ofEpoch] of Map.groupBy(chosen, (size) => size.epoch)) {
    segments.push(
      ...(await sql.all<StoredSegment>(
        `SELECT epoch, seq_to AS "to", body FROM segment
          WHERE site_id = $1 AND epoch = $2 AND seq_to = ANY($3) ORDER BY seq_to`,
        [siteId, epoch, ofEpoch.map(({ to }) => to)],
      )),
    )
  }
  return segments
}

export async function deleteSegments(
  sql: Sql,
  siteId: string,
  segments: readonly { readonly epoch: string; readonly to: number }[],
): Promise<void> {
  for (const [epoch, ofEpoch] of Map.groupBy(segments, (segment) => segment.epoch)) {
    await sql.run('DELETE FROM segment WHERE site_id = $1 AND epoch = $2 AND seq_to = ANY($3)', [
      siteId,
      epoch,
      ofEpoch.map(({ to }) => to),
    ])
  }
}

/** Replaces the runs of a segment; the new ones may cover fewer times. */
export async function replaceSegment(
  sql: Sql,
  siteId: string,
  segment: { readonly epoch: string; readonly to: number },
  body: Uint8Array,
  rows: number,
): Promise<void> {
  await sql.run('UPDATE segment SET body = $4, row_count = $5 WHERE site_id = $1 AND epoch = $2 AND seq_to = $3', [
    siteId,
    segment.epoch,
    segment.to,
    body,
    rows,
  ])
}

export interface SegmentBacklog {
  readonly siteId: string
  readonly rows: number
  readonly segments: number
  readonly oldestMs: number
}

/** Returns the segments waiting for compaction, by site. */
export async function segmentBacklogs(sql: Sql): Promise<SegmentBacklog[]> {
  return sql.all<SegmentBacklog>(
    `SELECT site_id AS "siteId", SUM(row_count) AS "rows", COUNT(*) AS "segments", MIN(received_at_ms) AS "oldestMs"
       FROM segment GROUP BY site_id`,
  )
}
