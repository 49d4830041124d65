import type { ENTITY_TABLES } from '#shared/wire/replication/replicated.ts'

/** Condition of rows of a replicated table that the hub has, up to a position of the stream of entities. */
export function isSentEntity(entity: (typeof ENTITY_TABLES)[number], key: string): string {
  return `NOT EXISTS (SELECT 1 FROM change_log WHERE entity = '${entity}' AND key = ${key} AND change_log.seq > ?)`
}
