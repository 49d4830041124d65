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

export function openReader(path: string): Connection {
  const db = new Database(path, { readonly: true, fileMustExist: true })
  db.pragma('busy_timeout = 5000')
  db.pragma('cache_size = -8192')
  // a full /tmp is no reason not to answer
  db.pragma('temp_store = MEMORY')
  return new Connection(db)
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
