import type { ENTITY_TABLES } from '#shared/wire/replication/replicated.ts'
import type { Connection } from '../db/connection.ts'
import { bodyOfKey, type ReplicatedTable, sentBody, storedRow, type Table } from '../db/table.ts'
import { TABLES } from '../tables/all.ts'
import type { SentRow } from './part.ts'

export type EntityTable = (typeof ENTITY_TABLES)[number]

/** Row of the change log with the current state of the row it refers to. */
export interface SyncEntity {
  readonly seq: number
  readonly table: string
  readonly key: string
  /** Null if the row was deleted. */
  readonly body: Record<string, unknown> | null
  /** Time of the last change, if the row has one. */
  readonly changedAtMs: number | null
}

/** Row of a table that is replicated by key. */
export interface LiveEntity {
  readonly rowId: number
  readonly key: string
  readonly body: Record<string, unknown>
}

interface ChangeRow {
  seq: number
  entity: string
  key: string
}

/** Next changes after a position; each body is read only when it is iterated, because some are large. */
export function entitiesAfter(connection: Connection, after: number, limit: number): Iterable<SyncEntity> {
  // `+?`: see block-rows.ts
  const sql = 'SELECT seq, entity, key FROM change_log WHERE seq > +? ORDER BY seq LIMIT +?'
  return withBodies(connection, connection.all<ChangeRow>(sql, after, limit))
}

/** Next changes of one table in the order of keys, including deleted rows; bodies are read like above. */
export function entitiesOf(
  connection: Connection,
  table: string,
  afterKey: string,
  limit: number,
): Iterable<SyncEntity> {
  const sql = 'SELECT seq, entity, key FROM change_log WHERE entity = +? AND key > +? ORDER BY key LIMIT +?'
  return withBodies(connection, connection.all<ChangeRow>(sql, table, afterKey, limit))
}

/** Next current rows of a table, in no meaningful order. */
export function liveEntities(
  connection: Connection,
  table: EntityTable,
  afterRowId: number,
  limit: number,
): LiveEntity[] {
  const declared = declarationOf(table)
  const { columns, key, from = `${table} t`, sentWith = '' } = declared.replicated
  const rows = connection
    .statement<Record<string, unknown> & { rowId: number; entityKey: string }>(
      `SELECT t.rowid AS rowId, ${key} AS entityKey, ${columns.join(', ')} FROM ${from} ${sentWith}
       WHERE t.rowid > +? ORDER BY t.rowid LIMIT +?`,
    )
    .all(afterRowId, limit)
  return rows.map((row) => ({ rowId: row.rowId, key: row.entityKey, body: sentBody(declared, row) }))
}

export function sentEntity({ seq, table, key, body, changedAtMs }: SyncEntity): SentRow {
  return { seq, atMs: changedAtMs, text: JSON.stringify({ seq, table, key, body }) }
}

/** Identity of an entity for audits. */
export function entityIdentity(table: EntityTable, { key, body }: LiveEntity): string {
  return JSON.stringify([table, key, body])
}

function declarationOf(name: string): Table & { replicated: ReplicatedTable } {
  const declared = TABLES.get(name)
  if (declared?.replicated === undefined) throw new Error(`changes of ${name} are not replicated`)
  return { ...declared, replicated: declared.replicated }
}

function* withBodies(connection: Connection, rows: readonly ChangeRow[]): Generator<SyncEntity> {
  for (const row of rows) yield withBody(connection, row)
}

/** Row of a key in the form in which it is sent; null if none exists. */
export function entityBody(connection: Connection, table: EntityTable, key: string): Record<string, unknown> | null {
  return bodyOfKey(connection, declarationOf(table), key)
}

function withBody(connection: Connection, { seq, entity: table, key }: ChangeRow): SyncEntity {
  const declared = declarationOf(table)
  const stored = storedRow(connection, declared, key)
  if (stored === undefined) return { seq, table, key, body: null, changedAtMs: null }
  return {
    seq,
    table,
    key,
    body: sentBody(declared, stored),
    changedAtMs: changedAt(declared.replicated, stored),
  }
}

function changedAt({ times = [] }: ReplicatedTable, stored: Record<string, unknown>): number | null {
  const known = times.map((column) => stored[column]).filter((time) => typeof time === 'number')
  return known.length === 0 ? null : Math.max(...known)
}
