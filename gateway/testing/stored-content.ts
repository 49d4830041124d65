import { join } from 'node:path'
import Database from 'better-sqlite3'

/** Content that changes automatically: usage counts and times of writing. */
const OF_ITS_OWN = [
  'total_requests',
  'requests_today',
  'last_reset_ms',
  'first_used_at_ms',
  'last_used_at_ms',
  'clock_mark',
  'service_days',
]

/** Complete content of the database of a running gateway, table by table. */
export class StoredContent {
  readonly #connection: Database.Database
  #version: unknown
  #tables: Record<string, string> = {}

  constructor(dataDir: string) {
    this.#connection = new Database(join(dataDir, 'cartbarn.db'), { readonly: true })
  }

  /** Returns the rows of each table as text, without automatic counts. */
  read(): Record<string, string> {
    // changes with every commit of another connection
    const version = this.#connection.pragma('data_version', { simple: true })
    if (version === this.#version) return this.#tables
    this.#version = version
    const names = this.#connection
      .prepare<[], string>(`SELECT name FROM sqlite_master WHERE type = 'table'`)
      .pluck()
      .all()
    this.#tables = Object.fromEntries(
      names.filter((name) => !OF_ITS_OWN.includes(name)).map((name) => [name, this.#rows(name)]),
    )
    return this.#tables
  }

  close(): void {
    this.#connection.close()
  }

  #rows(table: string): string {
    const rows = this.#connection.prepare(`SELECT * FROM "${table}"`).all()
    return JSON.stringify(rows, (key, value: unknown) => (OF_ITS_OWN.includes(key) ? undefined : value))
  }
}
