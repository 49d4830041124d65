import Database from 'better-sqlite3'
import { Connection } from './db/connection.ts'
import { migrate } from './migrate.ts'

/** Runs `use` on an empty in-memory database with the schema of a version, as a gateway creates it. */
export function withTemplate<Result>(version: number, use: (template: Connection) => Result): Result {
  const template = new Connection(new Database(':memory:'))
  try {
    template.db.pragma('auto_vacuum = INCREMENTAL')
    migrate(template, version)
    return use(template)
  } finally {
    template.close()
  }
}
