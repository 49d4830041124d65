import { createHash } from 'node:crypto'
import pg from 'pg'
import { describeError, UnavailableError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import type { ConnectionCounts, Database, Sql, SqlValue } from './database.ts'
import {
  areNamesRefused,
  asAppError,
  isBrokenOff,
  isServerLost,
  isStartupParameterRefused,
  withRetries,
} from './faults.ts'
import { createSchema } from './schema.ts'

export interface PostgresOptions {
  readonly url: string
  readonly log: Log
  /** Maximum number of connections; further queries wait. */
  readonly connections?: number
}

const CONNECTIONS = 10
const CONNECT_TIMEOUT_MS = 10_000
/** A statement that takes longer is considered hung. */
const STATEMENT_TIMEOUT_MS = 60_000
/** Maximum age of a connection: time until a changed name or proxy takes effect. */
const MAX_LIFETIME_S = 300

/** PostgreSQL, or a compatible database, over a bounded number of connections. */
export class PostgresDatabase implements Database {
  readonly #options: PostgresOptions
  #pool: pg.Pool
  readonly #names = new StatementNames()
  /** Excludes connections that existed when a server was lost. */
  #usable = new WeakSet<pg.PoolClient>()
  #stopped: Promise<void> | undefined

  constructor(options: PostgresOptions) {
    this.#options = options
    this.#pool = this.#newPool({ statement_timeout: STATEMENT_TIMEOUT_MS })
  }

  /** Throws if the database cannot be reached. */
  async start(): Promise<void> {
    try {
      await createSchema(this)
    } catch (error) {
      if (!isStartupParameterRefused(error)) throw error
      this.#options.log.info(
        'a connection pooler refuses statement_timeout: set it for the role in the database (docs/hub.md)',
      )
      await this.#pool.end()
      this.#pool = this.#newPool({})
      await createSchema(this)
    }
  }

  async stop(): Promise<void> {
    this.#stopped ??= this.#pool.end()
    await this.#stopped
  }

  async requireWritable(): Promise<void> {
    await this.#connected(async (client) => {
      const { rows } = await client.query<{ transaction_read_only: string }>('SHOW transaction_read_only')
      if (rows.at(0)?.transaction_read_only !== 'on') return
      this.#usable = new WeakSet()
      throw new UnavailableError('the database accepts no writes: it is a standby, or was set to read only')
    })
  }

  connections(): ConnectionCounts {
    const { totalCount, idleCount, waitingCount } = this.#pool
    return { used: totalCount - idleCount, idle: idleCount, waiting: waitingCount }
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
    return this.#repeated(async (client) => {
      await client.query('BEGIN')
      const result = await work(this.#sqlOf(client))
      await client.query('COMMIT')
      return result
    })
  }

  #once<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    return this.#repeated((client) => work(this.#sqlOf(client)))
  }

  #repeated<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    return withRetries(
      () => this.#connected(work),
      (error) => {
        if (!areNamesRefused(error)) return isBrokenOff(error)
        this.#names.giveUp()
        return true
      },
    )
  }

  #newPool(settings: pg.PoolConfig): pg.Pool {
    const { url, log, connections = CONNECTIONS } = this.#options
    const pool = new pg.Pool({
      ...settings,
      connectionString: url,
      max: connections,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      maxLifetimeSeconds: MAX_LIFETIME_S,
      // the server may be gone without closing the connection, which is then dropped
      query_timeout: 2 * STATEMENT_TIMEOUT_MS,
      keepAlive: true,
      application_name: 'cartbarn-hub',
      types: { getTypeParser },
    })
    pool.on('connect', (client) => this.#usable.add(client))
    // errors of idle connections: the pool opens new ones
    pool.on('error', (error) => {
      this.#usable = new WeakSet()
      log.warn({ reason: describeError(error) }, 'lost an idle database connection')
    })
    return pool
  }

  async #connect(): Promise<pg.PoolClient> {
    try {
      for (;;) {
        const client = await this.#pool.connect()
        if (this.#usable.has(client)) return client
        client.release(true)
      }
    } catch (error) {
      throw asAppError(error)
    }
  }

  async #connected<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.#connect()
    // a lost connection emits 'error' here in addition to failing the query; without a listener the process would end
    client.on('error', ignore)
    try {
      return await work(client)
    } catch (error) {
      if (isServerLost(error)) this.#usable = new WeakSet()
      const isClean = this.#usable.has(client) && (await isRolledBack(client))
      if (!isClean) this.#usable.delete(client)
      throw asAppError(error)
    } finally {
      client.off('error', ignore)
      client.release(!this.#usable.has(client))
    }
  }

  #sqlOf(client: pg.PoolClient): Sql {
    const query = <Row>(text: string, values: readonly SqlValue[] = []) => {
      const name = this.#names.nameOf(text)
      // pg's types have no read-only arrays, and allow any value as a parameter
      return client.query<Row & pg.QueryResultRow>({
        text,
        values: values as SqlValue[],
        ...(name === undefined ? {} : { name }),
      })
    }
    return {
      all: async <Row>(text: string, values?: readonly SqlValue[]) => (await query<Row>(text, values)).rows,
      get: async <Row>(text: string, values?: readonly SqlValue[]) => (await query<Row>(text, values)).rows.at(0),
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

function isRolledBack(client: pg.PoolClient): Promise<boolean> {
  return client.query('ROLLBACK').then(
    () => true,
    () => false,
  )
}

function ignore(): void {
  // reported elsewhere
}

const MAX_NAMES = 256
/** Longer statements are lists of rows, whose length varies. */
const MAX_TEXT = 600

/**
 * Names of repeated statements, so that a connection prepares each of them once. A name stands for one text in all hubs
 * and programs: with a pooler they share connections.
 */
class StatementNames {
  readonly #names = new Map<string, string>()
  #isGivenUp = false

  /** Returns undefined for a statement that is not worth preparing. */
  nameOf(text: string): string | undefined {
    if (this.#isGivenUp) return undefined
    const known = this.#names.get(text)
    if (known !== undefined) return known
    if (text.length > MAX_TEXT || text.includes('VALUES') || this.#names.size >= MAX_NAMES) return undefined
    const name = `hub_${createHash('sha256').update(text).digest('base64url').slice(0, 22)}`
    this.#names.set(text, name)
    return name
  }

  /** Stops using names: from now on each statement is prepared each time. */
  giveUp(): void {
    this.#isGivenUp = true
  }
}
