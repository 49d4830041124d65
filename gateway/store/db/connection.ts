import Database from 'better-sqlite3'

interface Reading {
  /** Rows are arrays if `toRow` makes objects from them. */
  readonly statement: Database.Statement<Value[], unknown>
  readonly toRow: (row: unknown) => unknown
}

export type Value = string | number | bigint | Uint8Array | null

/** SQLite connection that caches prepared statements. The caller supplies the type of the rows. */
export class Connection {
  readonly db: Database.Database
  readonly #statements = new Map<string, Database.Statement<Value[], unknown>>()
  readonly #readings = new Map<string, Reading>()
  #hasPageSums: boolean | undefined

  constructor(db: Database.Database) {
    this.db = db
  }

  /** Prepared statement of `sql`; prepared at its first use. */
  statement<Row = unknown>(sql: string): Database.Statement<Value[], Row> {
    const known = this.#statements.get(sql)
    // the text of a statement decides the type of its rows, so one text never has two types
    if (known !== undefined) return known as Database.Statement<Value[], Row>
    const statement = this.db.prepare<Value[], Row>(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  /** All rows, with a column `hardware_id` as the field `hardwareId`. `statement` keeps the names of the database. */
  all<Row>(sql: string, ...values: Value[]): Row[] {
    const { statement, toRow } = this.#reading(sql)
    return statement.all(...values).map(toRow) as Row[]
  }

  /** First row, with the names of `all`. */
  get<Row>(sql: string, ...values: Value[]): Row | undefined {
    const { statement, toRow } = this.#reading(sql)
    const row = statement.get(...values)
    return row === undefined ? undefined : (toRow(row) as Row)
  }

  #reading(sql: string): Reading {
    const known = this.#readings.get(sql)
    if (known !== undefined) return known
    const reading = readingOf(this.statement(sql), () => this.db.prepare(sql))
    this.#readings.set(sql, reading)
    return reading
  }

  /** Returns the number of changed rows. */
  run(sql: string, ...values: Value[]): number {
    return this.statement(sql).run(...values).changes
  }

  /** Runs reads on one snapshot and rolls back: SQLite refuses to commit after a damaged page, even if handled. */
  snapshot<Result>(work: () => Result): Result {
    this.run('BEGIN')
    try {
      return work()
    } finally {
      // SQLite ends the transaction when a page cannot be read
      if (this.db.inTransaction) this.run('ROLLBACK')
    }
  }

  /** True if the functions of `store/pages/page-sums` are loaded; not every system has them. */
  get hasPageSums(): boolean {
    this.#hasPageSums ??= hasPageSums(this.db)
    return this.#hasPageSums
  }

  close(): void {
    this.db.close()
  }
}

/** Column list that names the fields, so SQLite makes the objects of long lists (13 columns: 2.6 µs a row, not 3.6). */
export function asFields(columns: string): string {
  return columns.replaceAll(/(?<=^|,)(\s*)([a-z]\w*_\w+)(?=\s*(?:,|$))/g, (_, space: string, column: string) => {
    return `${space}${column} AS ${camel(column)}`
  })
}

/** Field name of a column: `out_of_service` is `outOfService`. */
function camel(column: string): string {
  return column.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function readingOf(
  statement: Database.Statement<Value[], unknown>,
  prepareAgain: () => Database.Statement<Value[], unknown>,
): Reading {
  const names = statement.columns().map(({ name }) => name)
  if (!names.some((name) => name.includes('_'))) return { statement, toRow: (row) => row }
  const fields = names.map(camel)
  return {
    // a separate statement: `raw` is a mode of the statement
    statement: prepareAgain().raw(true),
    toRow: (row) => {
      const values = row as unknown[]
      const made: Record<string, unknown> = {}
      for (let i = 0; i < fields.length; i++) made[fields[i] ?? ''] = values[i]
      return made
    },
  }
}

export function openReader(path: string): Connection {
  return new Connection(openReadonly(path))
}

/** Opens a reader that ignores wrong page checksums, for content with checksums of its own. */
export function openUncheckedReader(path: string): Connection {
  return prepared(openReadonly(path), (db) => {
    stopChecking(db)
    return new Connection(db)
  })
}

/** Must be called before the first read: the connection reuses whatever is in its page cache by then. */
export function stopChecking(db: Database.Database): void {
  if (hasPageSums(db)) db.prepare('SELECT page_checks(0)').get()
}

function hasPageSums(db: Database.Database): boolean {
  return db.prepare("SELECT 1 FROM pragma_function_list WHERE name = 'page_checks'").get() !== undefined
}

function openReadonly(path: string): Database.Database {
  return prepared(new Database(path, { readonly: true, fileMustExist: true }), (db) => {
    db.pragma('busy_timeout = 5000')
    // reads the schema, which may be damaged
    db.pragma('cache_size = -8192')
    // reads must still work when /tmp is full
    db.pragma('temp_store = MEMORY')
    return db
  })
}

/** Prepares an opened database for use; closes it if that fails, because callers may retry for hours. */
export function prepared<Result>(db: Database.Database, prepare: (db: Database.Database) => Result): Result {
  try {
    return prepare(db)
  } catch (error) {
    db.close()
    throw error
  }
}

/** Bytes of the database: in use, and free for later writes. */
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
