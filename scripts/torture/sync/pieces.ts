import { readDatabase } from '#scripts/rig/read-database.ts'

/** True if the hub has some chunks of a photo or drawing of a gateway, and not all. */
export function isBetweenPieces(dataDir: string): boolean {
  return readDatabase(
    dataDir,
    (db) =>
      db
        .prepare(
          `SELECT 1 FROM course_piece piece
             LEFT JOIN change_log logged
               ON logged.entity = 'course_piece' AND logged.key = printf('%s/%04d', piece.hash, piece.number)
             LEFT JOIN sync_cursor sent ON sent.stream = 'entities'
           GROUP BY piece.hash
           HAVING min(coalesce(logged.seq <= sent.seq, 0)) <> max(coalesce(logged.seq <= sent.seq, 0))`,
        )
        .get() !== undefined,
  )
}
