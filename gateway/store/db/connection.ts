import Database from 'better-sqlite3'

export type Value = string | number | bigint | Uint8Array | null

/** One SQLite connection with its statements prepared once. Rows are typed by the caller, who wrote the SQL. */
export class Connection {
  readonly db: Database.Database
  readonly #statements = new Map<string, Database.Statement<Value[], unknown>>()
  #hasPageSums: boolean | undefined

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

  /**
   * Runs reads on one state of the database. Rolled back in the end: SQLite refuses to commit once a read in it has met
   * a damaged page, also when that was handled.
   */
  snapshot<Result>(work: () => Result): Result {
    this.run('BEGIN')
    try {
      return work()
    } finally {
      // SQLite ends it itself when a page cannot be read
      if (this.db.inTransaction) this.run('ROLLBACK')
    }
  }

  /** Whether the functions of `store/pages/page-sums` are there, which they are not on every system. */
  get hasPageSums(): boolean {
    this.#hasPageSums ??= hasPageSums(this.db)
    return this.#hasPageSums
  }

  close(): void {
    this.db.close()
  }
}

export function openReader(path: string): Connection {
  return new Connection(openReadonly(path))
}

/** A reader that takes pages as they are: for what has a checksum of its own, once a page has a wrong one. */
export function openUncheckedReader(path: string): Connection {
  const db = openReadonly(path)
  stopChecking(db)
  return new Connection(db)
}

/** Before anything is read: what is in the cache then is used by whatever the connection does later. */
export function stopChecking(db: Database.Database): void {
  if (hasPageSums(db)) db.prepare('SELECT page_checks(0)').get()
}

function hasPageSums(db: Database.Database): boolean {
  return db.prepare("SELECT 1 FROM pragma_function_list WHERE name = 'page_checks'").get() !== undefined
}

function openReadonly(path: string): Database.Database {
  const db = new Database(path, { readonly: true, fileMustExist: true })
  try {
    db.pragma('busy_timeout = 5000')
    // reads the schema, which may be damaged
    db.pragma('cache_size = -8192')
    // a full /tmp is no reason not to answer
    db.pragma('temp_store = MEMORY')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** Bytes of the database: in use, and free for what is written next. */
export interface DatabaseSpace {
  usedBytes: number
  freeBytes: number
}

export function databaseSpace({ db }: Connection): DatabaseSpace {
  const pragma = (name: string) => Number(db.pragma(name, { simple: true }))
  const pageBytes = pragma('page_size')
  const freeBytes = pragma('freelist_count') * pageBytes
  return { usedBytes: pragma('page_count') * pageBytes - freeBytes, freeBytes }
}
