import type { Sql } from './database/database.ts'
import { inChunks, insertRows, placeholders } from './database/insert-rows.ts'

export interface LatestRow {
  readonly hardwareId: string
  readonly body: string
}

/** State as received, with the device's report on its cart, as JSON; null if its gateway reports none. */
export interface NewLatestRow extends LatestRow {
  readonly cartReport: string | null
}

/** Last state of a device that its gateway no longer has. */
export interface RemovedDevice extends LatestRow {
  readonly atMs: number
}

/** Snapshots get out of order by seconds only; one older by more is newer, made after the clock was set back. */
const REORDERED_MS = 60_000

/**
 * Stores the newest state of each of these devices; a stored state that is newer by more than `reorderedMs` counts as
 * older. A restored device belongs to its gateway again.
 */
export async function putLatest(
  sql: Sql,
  siteId: string,
  atMs: number,
  rows: readonly NewLatestRow[],
  reorderedMs = REORDERED_MS,
): Promise<void> {
  let updated = 0
  for (const some of inChunks(rows)) {
    const values = placeholders(some.length, 3, 3, ['TEXT', 'TEXT', 'TEXT'])
    updated += await sql.run(
      `UPDATE site_latest SET at_ms = $2, body = v.body, cart_said = v.cart_said, restored_at_ms = NULL
         FROM (VALUES ${values}) AS v (hardware_id, body, cart_said)
        WHERE site_latest.site_id = $1 AND site_latest.hardware_id = v.hardware_id
          AND (site_latest.at_ms < $2 OR site_latest.at_ms > $3 OR restored_at_ms IS NOT NULL)`,
      [
        siteId,
        atMs,
        behind(atMs, reorderedMs),
        ...some.flatMap(({ hardwareId, body, cartReport }) => [hardwareId, body, cartReport]),
      ],
    )
  }
  // usually all of them exist
  if (updated === rows.length) return
  await insertRows(
    sql,
    'site_latest',
    ['site_id', 'hardware_id', 'at_ms', 'body', 'cart_said'],
    rows.map(({ hardwareId, body, cartReport }) => [siteId, hardwareId, atMs, body, cartReport]),
  )
}

/** Removes, and returns, devices missing from a complete snapshot, unless in a newer one or restored by an admin. */
export async function keepLatestOf(
  sql: Sql,
  siteId: string,
  atMs: number,
  hardwareIds: readonly string[],
  reorderedMs = REORDERED_MS,
): Promise<RemovedDevice[]> {
  return sql.all(
    `DELETE FROM site_latest WHERE site_id = $1 AND hardware_id <> ALL($2) AND (at_ms <= $3 OR at_ms > $4)
       AND restored_at_ms IS NULL RETURNING hardware_id AS "hardwareId", at_ms AS "atMs", body`,
    [siteId, hardwareIds, atMs, behind(atMs, reorderedMs)],
  )
}

/** Returns the number of stored device states of each of these sites; sites without any are omitted. */
export async function deviceCounts(sql: Sql, siteIds: readonly string[]): Promise<Map<string, number>> {
  const counts = await sql.all<{ siteId: string; count: number }>(
    `SELECT site_id AS "siteId", COUNT(*) AS count FROM site_latest WHERE site_id = ANY($1) GROUP BY site_id`,
    [siteIds],
  )
  return new Map(counts.map(({ siteId, count }) => [siteId, count]))
}

/** Returns the number and the size of the stored device states of a site. */
export async function latestSize(sql: Sql, siteId: string): Promise<{ devices: number; bytes: number }> {
  const size = await sql.get<{ devices: number; bytes: number }>(
    `SELECT COUNT(*) AS devices, COALESCE(SUM(octet_length(body)), 0) AS bytes FROM site_latest WHERE site_id = $1`,
    [siteId],
  )
  return size ?? { devices: 0, bytes: 0 }
}

function behind(atMs: number, reorderedMs: number): number {
  return Math.min(atMs + reorderedMs, Number.MAX_SAFE_INTEGER)
}
