import { join } from 'node:path'
import Database from 'better-sqlite3'

/** What changes by itself: who asked how often, and the time that was written down. */
const OF_ITS_OWN = [
  'total_requests',
  'requests_today',
  'last_reset_ms',
  'first_used_at_ms',
  'last_used_at_ms',
  'clock_mark',
]

/** Everything in the database of a gateway, table by table, beside the running gateway. */
export class StoredContent {
  readonly #connection: Database.Database
  #version: unknown
  #tables: Record<string, string> = {}

  constructor(dataDir: string) {
    this.#connection = new Database(join(dataDir, 'cartbarn.db'), { readonly: true })
  }

  /** The rows of each table as text; what counts by itself is left out. */
  read(): Record<string, string> {
    // moves with every commit of another connection
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
