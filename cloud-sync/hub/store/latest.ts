import type { Sql } from './database/database.ts'
import { inPieces, insertRows, placeholders } from './database/insert-rows.ts'

export interface LatestRow {
  readonly hardwareId: string
  readonly body: string
}

/**
 * An older snapshot may come behind a newer one, and then it is by seconds; one that is older by more is of a clock that
 * was set back, and newer all the same.
 */
const REORDERED_MS = 60_000

/** Keeps the newest state of each of these devices; what is newer by more than `reorderedMs` counts as older. */
export async function putLatest(
  sql: Sql,
  siteId: string,
  atMs: number,
  rows: readonly LatestRow[],
  reorderedMs = REORDERED_MS,
): Promise<void> {
  let updated = 0
  for (const some of inPieces(rows)) {
    const values = placeholders(some.length, 2, 3, ['TEXT', 'TEXT'])
    updated += await sql.run(
      `UPDATE site_latest SET at_ms = $2, body = v.body FROM (VALUES ${values}) AS v (hardware_id, body)
        WHERE site_latest.site_id = $1 AND site_latest.hardware_id = v.hardware_id
          AND (site_latest.at_ms < $2 OR site_latest.at_ms > $3)`,
      [
        siteId,
        atMs,
        behind(atMs, reorderedMs),
        ...some.flatMap(({ hardwareId, body }) => [hardwareId, body]),
      ],
    )
  }
  // most often all of them are there
  if (updated === rows.length) return
  await insertRows(
    sql,
    'site_latest',
    ['site_id', 'hardware_id', 'at_ms', 'body'],
    rows.map(({ hardwareId, body }) => [siteId, hardwareId, atMs, body]),
  )
}

/** Forgets devices a complete snapshot does not name, unless a newer one does. */
export async function keepLatestOf(
  sql: Sql,
  siteId: string,
  atMs: number,
  hardwareIds: readonly string[],
  reorderedMs = REORDERED_MS,
): Promise<void> {
  await sql.run(
    `DELETE FROM site_latest WHERE site_id = $1 AND hardware_id <> ALL($2) AND (at_ms <= $3 OR at_ms > $4)`,
    [siteId, hardwareIds, atMs, behind(atMs, reorderedMs)],
  )
}

function behind(atMs: number, reorderedMs: number): number {
  return Math.min(atMs + reorderedMs, Number.MAX_SAFE_INTEGER)
}
