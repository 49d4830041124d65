import Sqlite from 'better-sqlite3'
import type { Database, Sql, SqlValue } from '#hub/store/database/database.ts'
import type { Program } from './program.ts'

export type HubKind = 'double' | 'pglite'

/** Database that lives on when its hub is killed: one connection, one transaction at a time. */
interface Server extends Sql {
  /** Performs a transaction; it is rolled back if `work` rejects. */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>
}

/** Starts an empty database with the tables of the hub. */
export async function startServer(kind: HubKind): Promise<Server> {
  if (kind === 'pglite') {
    const { PgliteDatabase } = await import('#hub/store/database/pglite.ts')
    const { pgliteTemplate } = await import('#hub/testing/pglite-template.ts')
    const server = new PgliteDatabase(undefined, await pgliteTemplate())
    await server.start()
    return server
  }
  const { schemaStatements } = await import('#hub/store/database/schema.ts')
  return new DoubleServer(schemaStatements())
}

/** Replaces PostgreSQL by SQLite in memory, ten times as fast, for the few words in which their SQL differs. */
class DoubleServer implements Server {
  readonly #db = new Sqlite(':memory:')
  readonly #statements = new Map<string, ReadyStatement>()
  #turn: Promise<unknown> = Promise.resolve()

  constructor(schema: readonly string[]) {
    for (const statement of schema) this.#db.exec(statement.replaceAll('BYTEA', 'BLOB'))
    this.#db.function('pg_postmaster_start_time', () => 'once')
    this.#db.function('pg_is_in_recovery', () => 'f')
  }

  all<Row>(text: string, values?: readonly SqlValue[]): Promise<Row[]> {
    return this.#inTurn(() => this.#sql.all<Row>(text, values))
  }

  get<Row>(text: string, values?: readonly SqlValue[]): Promise<Row | undefined> {
    return this.#inTurn(() => this.#sql.get<Row>(text, values))
  }

  run(text: string, values?: readonly SqlValue[]): Promise<number> {
    return this.#inTurn(() => this.#sql.run(text, values))
  }

  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    return this.#inTurn(async () => {
      this.#db.exec('BEGIN')
      try {
        const result = await work(this.#sql)
        this.#db.exec('COMMIT')
        return result
      } catch (error) {
        this.#db.exec('ROLLBACK')
        throw error
      }
    })
  }

  readonly #sql: Sql = {
    all: async <Row>(text: string, values: readonly SqlValue[] = []) => this.#ready(text).all(values) as Row[],
    get: async <Row>(text: string, values: readonly SqlValue[] = []) => this.#ready(text).all(values)[0] as Row,
    run: async (text, values = []) => this.#ready(text).run(values),
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(work)
    this.#turn = result.catch(() => undefined)
    return result
  }

  #ready(text: string): ReadyStatement {
    const known = this.#statements.get(text)
    if (known !== undefined) return known
    const made = new ReadyStatement(this.#db, text)
    this.#statements.set(text, made)
    return made
  }
}

/** Statement of PostgreSQL, as SQLite knows it. */
class ReadyStatement {
  readonly #statement: Sqlite.Statement | null
  readonly #flags: readonly string[]

  constructor(db: Sqlite.Database, text: string) {
    // the tables are new: there is nothing to upgrade
    this.#statement = /^(CREATE|ALTER) /.test(text) ? null : db.prepare(inSqlite(text))
    this.#flags = this.#statement?.reader
      ? this.#statement
          .columns()
          .filter(({ name, type }) => type === 'BOOLEAN' || /^(is|has)[_A-Z]/.test(name))
          .map(({ name }) => name)
      : []
  }

  all(values: readonly SqlValue[]): object[] {
    const rows = (this.#statement?.all(named(values)) ?? []) as Record<string, unknown>[]
    for (const row of rows)
      for (const flag of this.#flags) if (typeof row[flag] === 'number') row[flag] = row[flag] !== 0
    return rows
  }

  run(values: readonly SqlValue[]): number {
    if (this.#statement?.reader) return this.all(values).length
    return this.#statement?.run(named(values)).changes ?? 0
  }
}

function named(values: readonly SqlValue[]): Record<string, string | number | null | Uint8Array> {
  return Object.fromEntries(
    values.map((value, i) => [
      i + 1,
      typeof value === 'boolean'
        ? Number(value)
        : Array.isArray(value)
          ? JSON.stringify(value)
          : (value as string | number | null | Uint8Array),
    ]),
  )
}

function inSqlite(text: string): string {
  return text
    .replace(/ FOR UPDATE/g, '')
    .replace(/<> ALL\((\$\d+)\)/g, 'NOT IN (SELECT value FROM json_each($1))')
    .replace(/= ANY\((\$\d+)\)/g, 'IN (SELECT value FROM json_each($1))')
    .replace(/GREATEST\(/g, 'max(')
    .replace(/LEAST\(/g, 'min(')
    .replace(/CAST\((REPLACE\(REPLACE\(.*?) AS jsonb\)/gs, '($1)')
    .replace(/\(VALUES (.*?)\) AS (\w+) \(([^)]*)\)/gs, (_, rows: string, name: string, columns: string) => {
      const named = columns.split(', ').map((column, i) => `column${i + 1} AS ${column}`)
      return `(SELECT ${named.join(', ')} FROM (VALUES ${rows})) AS ${name}`
    })
}

/** Fault of a database: `full` refuses writes, `down` everything. */
export type DatabaseFault = 'full' | 'down' | null

/** Connection of one life of a hub to its database. */
export class HubDatabase implements Database {
  fault: DatabaseFault = null
  readonly #server: Server
  readonly #program: Program
  readonly #sql: Sql
  readonly #dead: Promise<never>

  constructor(server: Server, program: Program) {
    this.#server = server
    this.#program = program
    this.#sql = this.#admitted(server)
    this.#dead = new Promise((_, reject) => program.onDeath(() => reject(new Error('the hub is dead'))))
    this.#dead.catch(() => undefined)
  }

  async start(): Promise<void> {
    await this.requireWritable()
  }

  async stop(): Promise<void> {
    // the database is a program of its own
  }

  all<Row>(text: string, values?: readonly SqlValue[]): Promise<Row[]> {
    return this.#sql.all<Row>(text, values)
  }

  get<Row>(text: string, values?: readonly SqlValue[]): Promise<Row | undefined> {
    return this.#sql.get<Row>(text, values)
  }

  run(text: string, values?: readonly SqlValue[]): Promise<number> {
    return this.#sql.run(text, values)
  }

  /** The hub may be killed before it has committed, which rolls back, and before it learns of that. */
  async transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    await this.#admit('BEGIN')
    const committed = this.#server.transaction(async (sql) => {
      const done = await Promise.race([work(this.#admitted(sql)), this.#dead])
      await Promise.race([turn(), this.#dead])
      return done
    })
    const result = await committed.catch((error: unknown) => {
      // the dead react to nothing
      if (!this.#program.isAlive) return new Promise<never>(() => undefined)
      throw error
    })
    await turn()
    return result
  }

  async requireWritable(): Promise<void> {
    await this.#admit('SELECT 1')
  }

  #admitted(sql: Sql): Sql {
    return {
      all: async <Row>(text: string, values?: readonly SqlValue[]) => {
        await this.#admit(text)
        return sql.all<Row>(text, values)
      },
      get: async <Row>(text: string, values?: readonly SqlValue[]) => {
        await this.#admit(text)
        return sql.get<Row>(text, values)
      },
      run: async (text, values) => {
        await this.#admit(text)
        return sql.run(text, values)
      },
    }
  }

  async #admit(text: string): Promise<void> {
    if (this.fault === null || (this.fault === 'full' && /^\s*(SELECT|BEGIN|WITH)/i.test(text))) return
    const { asAppError } = await import('#hub/store/database/faults.ts')
    const [code, words] = this.fault === 'full' ? ['53100', 'disk full'] : ['57P03', 'the database is starting up']
    throw asAppError(Object.assign(new Error(words), { code }))
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
