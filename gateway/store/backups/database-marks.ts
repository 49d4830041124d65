import type { Connection } from '../db/connection.ts'
import { quoted } from '../db/table-sql.ts'

/** Values that identify a database, and show which of two has more data. */
export interface DatabaseMarks {
  readonly schema: number
  readonly epoch: string
  /** Last assigned numbers, keyed by sequence. They only grow, whatever the clock shows. */
  readonly ends: Record<string, number>
}

/** Throws the errors of SQLite if the marks cannot be read, or if the database belongs to another program. */
export function databaseMarks(connection: Connection): DatabaseMarks {
  const numbers = connection.all<{ name: string; seq: number }>('SELECT name, seq FROM sqlite_sequence ORDER BY name')
  const log = connection.get<{ nextSeq: number }>('SELECT next_seq FROM telemetry_log_end')
  const last = connection.get<{ seq: number }>('SELECT max(first_seq) AS seq FROM telemetry_log')
  return {
    schema: Number(connection.db.pragma('user_version', { simple: true })),
    epoch: connection.get<{ epoch: string }>('SELECT epoch FROM sync_identity')?.epoch ?? '',
    ends: {
      ...Object.fromEntries(numbers.map(({ name, seq }) => [name, seq])),
      telemetry_log: Math.max(log?.nextSeq ?? 0, last?.seq ?? 0),
    },
  }
}

const USERS_REVEALED = 100

/** Returns the ids of the first users. They are random: two databases with a common one belong to one gateway. */
export function firstUsers(connection: Connection): string[] {
  return connection
    .all<{ id: string }>(`SELECT user_id AS id FROM user ORDER BY created_at_ms, user_id LIMIT ${USERS_REVEALED}`)
    .map(({ id }) => id)
}

/** Returns the statements of a schema in an order in which they can be executed. */
export function schemaStatements(connection: Connection): { type: string; name: string; sql: string }[] {
  return connection.all<{ type: string; name: string; sql: string }>(
    `SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'
     ORDER BY type = 'trigger', type = 'index', type = 'view', rowid`,
  )
}

export function countRows(connection: Connection, table: string): number {
  return connection.get<{ n: number }>(`SELECT count(*) AS n FROM ${quoted(table)}`)?.n ?? 0
}
