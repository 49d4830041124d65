import { ENTITY_TABLES } from '#shared/wire/replication/replicated.ts'
import type { Connection } from '../db/connection.ts'
import { PIECE_BYTES } from '../tables/course-pieces.ts'
import type { SentRow } from './part.ts'

export type EntityTable = (typeof ENTITY_TABLES)[number]

/** A row of the change log with what the row it names is now. */
export interface SyncEntity {
  readonly seq: number
  readonly table: string
  readonly key: string
  /** Null when it is gone. */
  readonly body: Record<string, unknown> | null
  /** When it was changed last, where the row says it. */
  readonly changedAtMs: number | null
}

/** A row of a table that is replicated by key. */
export interface LiveEntity {
  readonly rowId: number
  readonly key: string
  readonly body: Record<string, unknown>
}

interface Entity {
  /** What is sent: never a secret. */
  readonly columns: readonly string[]
  /** Columns that hold JSON, or 0 and 1. */
  readonly json?: readonly string[]
  readonly flags?: readonly string[]
  /** Columns of bytes, which are sent as base64. */
  readonly blobs?: readonly string[]
  /** Columns that are sent as true where they hold anything, and left out else: rows from before them compare equal. */
  readonly marks?: readonly string[]
  /** Columns that tell when it was changed. */
  readonly times?: readonly string[]
  /** The tables, the replicated one as `t`. */
  readonly from: string
  /** The key as the triggers of the change log write it. */
  readonly key: string
  /** What finds a row by its key, and the values of it. */
  readonly where: string
  valuesOf?(key: string): (string | number)[]
}

const COMMAND_TIMES = ['created_at_ms', 'published_at_ms', 'acknowledged_at_ms', 'completed_at_ms']

const ENTITIES: Record<EntityTable, Entity> = {
  device: {
    columns: [
      'device_id',
      'hardware_id',
      'short_id',
      'device_type',
      'name',
      'cart',
      'group_id',
      'created_at_ms',
      'updated_at_ms',
    ],
    times: ['updated_at_ms'],
    from: 'device t',
    key: 't.hardware_id',
    where: 't.hardware_id = ?',
  },
  device_group: {
    columns: ['group_id', 'name', 'created_at_ms', 'updated_at_ms'],
    times: ['updated_at_ms'],
    from: 'device_group t',
    key: 'CAST(t.group_id AS TEXT)',
    where: 't.group_id = ?',
    valuesOf: (key) => [Number(key)],
  },
  device_type: {
    columns: ['name', 'description', 'defaults', 'config_schema', 'commands'],
    json: ['defaults', 'config_schema', 'commands'],
    from: 'device_type t',
    key: 't.name',
    where: 't.name = ?',
  },
  group_config: {
    columns: ['group_id', 'device_type', 'config'],
    json: ['config'],
    from: 'group_config t',
    key: `t.group_id || '/' || t.device_type`,
    where: 't.group_id = ? AND t.device_type = ?',
    valuesOf: (key) => [Number(key.split('/', 1)[0]), key.slice(key.indexOf('/') + 1)],
  },
  device_config: {
    columns: ['hardware_id', 'config'],
    json: ['config'],
    from: 'device_config t JOIN device d USING (device_id)',
    key: 'd.hardware_id',
    where: 'd.hardware_id = ?',
  },
  geofence_set: {
    columns: ['group_id', 'version', 'zones', 'updated_at_ms'],
    json: ['zones'],
    times: ['updated_at_ms'],
    from: 'geofence_set t',
    key: 'CAST(t.group_id AS TEXT)',
    where: 't.group_id = ?',
    valuesOf: (key) => [Number(key)],
  },
  zone_set: {
    columns: ['version', 'zones', 'switches', 'updated_at_ms'],
    json: ['zones', 'switches'],
    times: ['updated_at_ms'],
    from: 'zone_set t',
    key: `'site'`,
    where: 't.only = 1 AND ? IS NOT NULL',
  },
  user: {
    columns: [
      'user_id',
      'name',
      'email',
      'role',
      'is_active',
      'allowed_hardware_ids',
      'mask_codes',
      'created_at_ms',
    ],
    json: ['allowed_hardware_ids'],
    flags: ['is_active', 'mask_codes'],
    from: 'user t',
    key: 't.user_id',
    where: 't.user_id = ?',
  },
  command: {
    columns: [
      'command_id',
      'hardware_id',
      'short_id',
      'device_type',
      'command',
      'params',
      'metadata',
      'ttl_s',
      'status',
      'requested_by',
      'retry_of',
      ...COMMAND_TIMES,
      'error',
      'late_ack',
      'forced',
    ],
    json: ['params', 'metadata', 'late_ack'],
    marks: ['forced'],
    times: COMMAND_TIMES,
    from: 'command t',
    key: 't.command_id',
    where: 't.command_id = ?',
  },
  site: {
    columns: ['settings', 'updated_at_ms'],
    json: ['settings'],
    times: ['updated_at_ms'],
    from: 'site t',
    key: `'site'`,
    where: 't.only = 1 AND ? IS NOT NULL',
  },
  course: {
    columns: ['version', 'attribution', 'sent', 'drawing', 'photo', 'updated_at_ms'],
    json: ['drawing', 'photo'],
    times: ['updated_at_ms'],
    from: `(SELECT only AS rowid, only, version, attribution, features AS sent, drawing, updated_at_ms,
      (SELECT json_object('hash', hash, 'bytes', bytes, 'pieces', (bytes + ${PIECE_BYTES - 1}) / ${PIECE_BYTES},
        'content_type', content_type, 'corners', json(corners)) FROM course_photo) AS photo FROM course) t`,
    key: `'site'`,
    where: 't.only = 1 AND ? IS NOT NULL',
  },
  course_piece: {
    columns: ['hash', 'number', 'bytes'],
    blobs: ['bytes'],
    // the head office is told of one after the other
    from: `course_piece t JOIN change_log told
      ON told.entity = 'course_piece' AND told.key = printf('%s/%04d', t.hash, t.number)`,
    key: `printf('%s/%04d', t.hash, t.number)`,
    where: 't.hash = ? AND t.number = ?',
    valuesOf: (key) => [key.split('/', 1)[0] ?? '', Number(key.slice(key.indexOf('/') + 1))],
  },
  alert: {
    columns: [
      'alert_id',
      'kind',
      'cart',
      'hardware_id',
      'opened_at_ms',
      'closed_at_ms',
      'acknowledged_at_ms',
      'acknowledged_by',
      'note',
      'details',
    ],
    json: ['acknowledged_by', 'details'],
    times: ['opened_at_ms', 'closed_at_ms', 'acknowledged_at_ms'],
    from: 'alert t',
    key: 't.alert_id',
    where: 't.alert_id = ?',
  },
  cart_note: {
    columns: ['cart', 'out_of_service', 'exempt', 'note', 'updated_at_ms'],
    json: ['out_of_service', 'exempt'],
    times: ['updated_at_ms'],
    from: 'cart_note t',
    key: 't.cart',
    where: 't.cart = ?',
  },
  audit_entry: {
    columns: [
      'entry_id',
      'at_ms',
      'user_id',
      'person',
      'session_id',
      'address',
      'action',
      'target',
      'before',
      'after',
    ],
    json: ['person', 'before', 'after'],
    times: ['at_ms'],
    from: 'audit_entry t',
    key: 't.entry_id',
    where: 't.entry_id = ?',
  },
}

interface ChangeRow {
  seq: number
  entity: string
  key: string
}

/** The next changes behind a position; a body is read when it is its turn, for some are large. */
export function entitiesBehind(connection: Connection, after: number, limit: number): Iterable<SyncEntity> {
  // `+?`: see block-rows.ts
  const sql = 'SELECT seq, entity, key FROM change_log WHERE seq > +? ORDER BY seq LIMIT +?'
  return withBodies(connection, connection.all<ChangeRow>(sql, after, limit))
}

/** The next changes of one table in the order of their keys, also those of rows that are gone; bodies as above. */
export function entitiesOf(
  connection: Connection,
  table: string,
  afterKey: string,
  limit: number,
): Iterable<SyncEntity> {
  const sql = 'SELECT seq, entity, key FROM change_log WHERE entity = +? AND key > +? ORDER BY key LIMIT +?'
  return withBodies(connection, connection.all<ChangeRow>(sql, table, afterKey, limit))
}

/** The next rows of a table as they are now, in no order that means anything. */
export function liveEntities(
  connection: Connection,
  table: EntityTable,
  afterRowId: number,
  limit: number,
): LiveEntity[] {
  const entity = ENTITIES[table]
  const rows = connection.all<Record<string, unknown> & { rowId: number; entityKey: string }>(
    `SELECT t.rowid AS rowId, ${entity.key} AS entityKey, ${entity.columns.join(', ')} FROM ${entity.from}
     WHERE t.rowid > +? ORDER BY t.rowid LIMIT +?`,
    afterRowId,
    limit,
  )
  return rows.map((row) => ({ rowId: row.rowId, key: row.entityKey, body: bodyOf(entity, row) }))
}

/** The row as it is sent. */
export function sentEntity({ seq, table, key, body, changedAtMs }: SyncEntity): SentRow {
  return { seq, atMs: changedAtMs, text: JSON.stringify({ seq, table, key, body }) }
}

/** What makes an entity what it is, for audits. */
export function entityIdentity(table: EntityTable, { key, body }: LiveEntity): string {
  return JSON.stringify([table, key, body])
}

function isEntityTable(name: string): name is EntityTable {
  return ENTITY_TABLES.some((table) => table === name)
}

function* withBodies(connection: Connection, rows: readonly ChangeRow[]): Generator<SyncEntity> {
  for (const row of rows) yield withBody(connection, row)
}

/** The row of a key as it is sent; null when there is none. */
export function entityBody(
  connection: Connection,
  table: EntityTable,
  key: string,
): Record<string, unknown> | null {
  const stored = storedEntity(connection, table, key)
  return stored === undefined ? null : bodyOf(ENTITIES[table], stored)
}

function storedEntity(
  connection: Connection,
  table: EntityTable,
  key: string,
): Record<string, unknown> | undefined {
  const { columns, from, where, valuesOf } = ENTITIES[table]
  return connection.get<Record<string, unknown>>(
    `SELECT ${columns.join(', ')} FROM ${from} WHERE ${where}`,
    ...(valuesOf?.(key) ?? [key]),
  )
}

function withBody(connection: Connection, { seq, entity: table, key }: ChangeRow): SyncEntity {
  if (!isEntityTable(table)) throw new Error(`changes of ${table} are not replicated`)
  const entity = ENTITIES[table]
  const stored = storedEntity(connection, table, key)
  if (stored === undefined) return { seq, table, key, body: null, changedAtMs: null }
  return { seq, table, key, body: bodyOf(entity, stored), changedAtMs: changedAt(entity, stored) }
}

function bodyOf(
  { columns, json = [], flags = [], blobs = [], marks = [] }: Entity,
  stored: Record<string, unknown>,
): Record<string, unknown> {
  const body: Record<string, unknown> = {}
  for (const column of columns) {
    const value = stored[column]
    if (json.includes(column)) body[column] = typeof value === 'string' ? JSON.parse(value) : null
    else if (flags.includes(column)) body[column] = value === 1
    else if (blobs.includes(column)) body[column] = value instanceof Buffer ? value.toString('base64') : null
    else if (marks.includes(column)) Object.assign(body, value === null ? {} : { [column]: true })
    else body[column] = value
  }
  return body
}

function changedAt({ times = [] }: Entity, stored: Record<string, unknown>): number | null {
  const known = times.map((column) => stored[column]).filter((time) => typeof time === 'number')
  return known.length === 0 ? null : Math.max(...known)
}
