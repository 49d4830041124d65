import Database from 'better-sqlite3'

type Value = string | number | bigint | Uint8Array | null

/** One SQLite connection with its statements prepared once. Rows are typed by the caller, who wrote the SQL. */
export class Connection {
  readonly db: Database.Database
  readonly #statements = new Map<string, Database.Statement<Value[], unknown>>()

  constructor(db: Database.Database) {
    this.db = db
  }

  /** The prepared statement of `sql`, made at its first use. */
  statement<Row = unknown>(sql: string): Database.Statement<Value[], Row> {
    const known = this.#statements.get(sql)
    // the text of a statement decides the type of its rows, so one text never has two
    if (known !== undefined) return known as Database.Statement<Value[], Row>
    const statement = this.db.prepare<Value[], Row>(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  all<Row>(sql: string, ...values: Value[]): Row[] {
    return this.statement<Row>(sql).all(...values)
  }

  get<Row>(sql: string, ...values: Value[]): Row | undefined {
    return this.statement<Row>(sql).get(...values)
  }

  /** Returns how many rows changed. */
  run(sql: string, ...values: Value[]): number {
    return this.statement(sql).run(...values).changes
  }

  close(): void {
    this.db.close()
  }
}

/** How long a lock of another program is waited for; what is queued is tried again after it. */
export const WRITER_BUSY_MS = 1000

/** Opens the database to be made or upgraded; makes the file. Throws when it cannot have a write-ahead log. */
export function openForSetup(path: string): Connection {
  const db = new Database(path)
  // counts only before the first table is made
  db.pragma('auto_vacuum = INCREMENTAL')
  const mode = db.pragma('journal_mode = WAL', { simple: true })
  if (mode !== 'wal') throw new Error(`no write-ahead log is possible here (journal_mode ${mode})`)
  return configureWriter(db)
}

/**
 * The one connection that writes, to a database that is there. FULL: a commit is on the disk when it returns (NORMAL lost acknowledged messages in
 * simulated power cuts, and costs 5 % less at most once commits are grouped).
 */
export function openWriter(path: string): Connection {
  // an empty database in the place of one that was deleted would take everything and keep nothing
  return configureWriter(new Database(path, { fileMustExist: true }))
}

function configureWriter(db: Database.Database): Connection {
  db.pragma('synchronous = FULL')
  db.pragma('foreign_keys = ON')
  db.pragma(`busy_timeout = ${WRITER_BUSY_MS}`)
  // the writer thread does it itself, see WriterConnection
  db.pragma('wal_autocheckpoint = 0')
  db.pragma('journal_size_limit = 67108864')
  db.pragma('cache_size = -16384')
  db.pragma('temp_store = MEMORY')
  return new Connection(db)
}

export function openReader(path: string): Connection {
  const db = new Database(path, { readonly: true, fileMustExist: true })
  db.pragma('busy_timeout = 5000')
  db.pragma('cache_size = -8192')
  // a full /tmp is no reason not to answer
  db.pragma('temp_store = MEMORY')
  return new Connection(db)
}
