import { join } from 'node:path'
import Sqlite from 'better-sqlite3'

const TABLES: Readonly<Record<string, string>> = {
  notes: 'note',
  lock_events: 'lock_event',
  geofence_events: 'geofence_event',
  entities: 'change_log',
  history: 'block_log',
}

/** Rows of a gateway as they are in its files. */
export interface GatewayRows {
  all<Row = Record<string, unknown>>(sql: string, ...values: unknown[]): Row[]
  /** Last position given in a stream. */
  endOf(stream: string): number
  close(): void
}

/** Opens the database in a data folder while its gateway runs; must be closed in the same turn. */
export function openRows(dataDir: string): GatewayRows {
  const db = new Sqlite(join(dataDir, 'cartbarn.db'), { readonly: true })
  const statements = new Map<string, Sqlite.Statement>()
  const all = <Row>(sql: string, ...values: unknown[]) => {
    const statement = statements.get(sql) ?? db.prepare(sql)
    statements.set(sql, statement)
    return statement.all(...values) as Row[]
  }
  return {
    all,
    endOf: (stream) => {
      // a sample takes one position, and rows of the log do not say how many they have
      if (stream === 'telemetry') return Number.POSITIVE_INFINITY
      const [row] = all<{ seq: number }>('SELECT seq FROM sqlite_sequence WHERE name = ?', TABLES[stream])
      return row?.seq ?? 0
    },
    close: () => db.close(),
  }
}
