import pg from 'pg'
import { describeError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import type { Database, Sql, SqlValue } from './database.ts'
import { asAppError, withRetries } from './faults.ts'
import { createSchema } from './schema.ts'

export interface PostgresOptions {
  readonly url: string
  readonly log: Log
  /** Connections at the same time; further queries wait. */
  readonly connections?: number
}

const CONNECTIONS = 10
const CONNECT_TIMEOUT_MS = 10_000
/** A statement that takes longer hangs. */
const STATEMENT_TIMEOUT_MS = 60_000

/** PostgreSQL, or a compatible database, over a bounded number of connections. */
export class PostgresDatabase implements Database {
  readonly #pool: pg.Pool
  readonly #names = new StatementNames()
  #stopped: Promise<void> | undefined

  constructor({ url, log, connections = CONNECTIONS }: PostgresOptions) {
    this.#pool = new pg.Pool({
      connectionString: url,
      max: connections,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      // the server may be gone without a word: then the connection is given up
      query_timeout: 2 * STATEMENT_TIMEOUT_MS,
      keepAlive: true,
      application_name: 'cartbarn-hub',
      types: { getTypeParser },
    })
    // errors of idle connections: the pool opens new ones
    this.#pool.on('error', (error) =>
      log.warn({ reason: describeError(error) }, 'lost an idle database connection'),
    )
  }

  /** Throws when the database cannot be reached. */
  async start(): Promise<void> {
    await createSchema(this)
  }

  async stop(): Promise<void> {
    this.#stopped ??= this.#pool.end()
    await this.#stopped
  }

  all<Row>(text: string, values?: readonly SqlValue[]): Promise<Row[]> {
    return this.#once((sql) => sql.all<Row>(text, values))
  }

  get<Row>(text: string, values?: readonly SqlValue[]): Promise<Row | undefined> {
    return this.#once((sql) => sql.get<Row>(text, values))
  }

  run(text: string, values?: readonly SqlValue[]): Promise<number> {
    return this.#once((sql) => sql.run(text, values))
  }

  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    return withRetries(() =>
      this.#connected(async (client) => {
        await client.query('BEGIN')
        const result = await work(this.#sqlOf(client))
        await client.query('COMMIT')
        return result
      }),
    )
  }

  #once<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    return withRetries(() => this.#connected((client) => work(this.#sqlOf(client))))
  }

  async #connected<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw asAppError(error)
    })
    // a lost connection emits 'error' here besides failing the query; without a listener it would end the process
    client.on('error', ignore)
    let isUsable = true
    try {
      return await work(client)
    } catch (error) {
      isUsable = await client.query('ROLLBACK').then(
        () => true,
        () => false,
      )
      throw asAppError(error)
    } finally {
      client.off('error', ignore)
      client.release(!isUsable)
    }
  }

  #sqlOf(client: pg.PoolClient): Sql {
    const query = <Row>(text: string, values: readonly SqlValue[] = []) => {
      const name = this.#names.nameOf(text)
      // pg knows no read-only arrays, and takes any value for a parameter
      return client.query<Row & pg.QueryResultRow>({
        text,
        values: values as SqlValue[],
        ...(name === undefined ? {} : { name }),
      })
    }
    return {
      all: async <Row>(text: string, values?: readonly SqlValue[]) => (await query<Row>(text, values)).rows,
      get: async <Row>(text: string, values?: readonly SqlValue[]) =>
        (await query<Row>(text, values)).rows.at(0),
      run: async (text, values) => (await query(text, values)).rowCount ?? 0,
    }
  }
}

const INT8 = 20
const NUMERIC = 1700

/** Counts and times fit a JavaScript number: bigint, and numeric, the type of sums of bigint. */
const getTypeParser: pg.CustomTypesConfig['getTypeParser'] = (oid, format) => {
  const isNumber = oid === INT8 || oid === NUMERIC
  return isNumber ? Number : pg.types.getTypeParser(oid, format)
}

function ignore(): void {
  // told elsewhere
}

const MAX_NAMES = 256
/** Longer statements are lists of rows, whose length differs each time. */
const MAX_TEXT = 600

/** Names for statements that come again and again, so that a connection prepares each of them once. */
class StatementNames {
  readonly #names = new Map<string, string>()

  /** Undefined for a statement that is not worth preparing. */
  nameOf(text: string): string | undefined {
    const known = this.#names.get(text)
    if (known !== undefined) return known
    if (text.length > MAX_TEXT || text.includes('VALUES') || this.#names.size >= MAX_NAMES) return undefined
    const name = `hub_${this.#names.size}`
    this.#names.set(text, name)
    return name
  }
}
