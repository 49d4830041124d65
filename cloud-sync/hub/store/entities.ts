import type { Sql } from './database/database.ts'
import { inChunks, insertRows, placeholders } from './database/insert-rows.ts'

export interface EntityRow {
  readonly table: string
  readonly key: string
  readonly seq: number
  /** JSON; null if the entity is deleted. */
  readonly body: string | null
}

/**
 * Stores entities. A row older than the stored one of the same epoch is ignored: a row that an audit sends again may
 * have been read before a newer change was sent. At most one row per key.
 */
export async function putEntities(sql: Sql, siteId: string, epoch: string, rows: readonly EntityRow[]): Promise<void> {
  await insertRows(
    sql,
    'entity',
    ['site_id', 'entity_table', 'entity_key', 'epoch', 'seq', 'body'],
    rows.map(({ table, key, seq, body }) => [siteId, table, key, epoch, seq, body]),
  )
  for (const some of inChunks(rows)) {
    const values = placeholders(some.length, 4, 2, ['TEXT', 'TEXT', 'BIGINT', 'TEXT'])
    await sql.run(
      `UPDATE entity SET epoch = $2, seq = v.seq, body = v.body
         FROM (VALUES ${values}) AS v (entity_table, entity_key, seq, body)
        WHERE entity.site_id = $1 AND entity.entity_table = v.entity_table
          AND entity.entity_key = v.entity_key AND (entity.epoch <> $2 OR entity.seq <= v.seq)`,
      [siteId, epoch, ...some.flatMap(({ table, key, seq, body }) => [table, key, seq, body])],
    )
  }
}

/** Deletes entities that only earlier epochs had; to be called once this epoch has sent all of its own. */
export async function deleteEarlierEntities(sql: Sql, siteId: string, epoch: string): Promise<number> {
  return sql.run(
    `DELETE FROM entity WHERE site_id = $1 AND epoch <> $2 AND epoch IN
       (SELECT earlier.epoch FROM site_epoch earlier, site_epoch mine
         WHERE earlier.site_id = $1 AND mine.site_id = $1 AND mine.epoch = $2
           AND earlier.first_seen_ms <= mine.first_seen_ms)`,
    [siteId, epoch],
  )
}

/** Returns the entities of some tables that are not deleted, by table and key. */
export async function entitiesOf(
  sql: Sql,
  siteId: string,
  tables: readonly string[],
): Promise<{ table: string; key: string; body: string }[]> {
  return sql.all(
    `SELECT entity_table AS "table", entity_key AS "key", body FROM entity
      WHERE site_id = $1 AND entity_table = ANY($2) AND body IS NOT NULL ORDER BY entity_table, entity_key`,
    [siteId, tables],
  )
}

/** Returns all entities that are not deleted, without the audit log entries that an earlier hub stored here. */
export async function livingEntities(
  sql: Sql,
  siteId: string,
): Promise<{ table: string; key: string; body: string }[]> {
  return sql.all(
    `SELECT entity_table AS "table", entity_key AS "key", body FROM entity
      WHERE site_id = $1 AND body IS NOT NULL AND entity_table <> 'audit_entry'`,
    [siteId],
  )
}
