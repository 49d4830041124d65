import { after } from 'node:test'
import type { Database } from '#hub/store/database/database.ts'
import { PgliteDatabase } from '#hub/store/database/pglite.ts'
import { PostgresDatabase } from '#hub/store/database/postgres.ts'
import { createSchema } from '#hub/store/database/schema.ts'
import { createLog } from '#shared/log.ts'
import { pgliteTemplate } from './pglite-template.ts'
import { findPostgres } from './postgres-binaries.ts'
import { type PostgresServer, startPostgres } from './start-postgres.ts'

/** Database that a suite of tests runs on. */
export interface DatabaseKind {
  readonly name: string
  /** Reason why it is unavailable here, or false; the value for `describe` and `test`. */
  readonly skip: string | false
  /** Starts an empty database for the caller alone. */
  open(): Promise<Database>
}

/** Stopped databases: emptying one takes a tenth of the time of starting another. */
const idle: KeptPglite[] = []
let isLast = false

// the hooks of the tests that stop their databases run after this one
after(async () => {
  isLast = true
  for (const database of idle.splice(0)) await database.stop()
})

/** Database that is reused by the next test of this process once this one has stopped it. */
class KeptPglite extends PgliteDatabase {
  override async stop(): Promise<void> {
    if (isLast) return super.stop()
    if (!idle.includes(this)) idle.push(this)
  }

  async emptied(): Promise<this> {
    for (const statement of ['DISCARD ALL', 'DROP SCHEMA public CASCADE', 'CREATE SCHEMA public'])
      await this.run(statement)
    await createSchema(this)
    return this
  }
}

const PGLITE: DatabaseKind = {
  name: 'PGlite',
  skip: false,
  open: async () => {
    const database = idle.pop()
    if (database !== undefined) return database.emptied()
    const made = new KeptPglite(undefined, await pgliteTemplate())
    await made.start()
    return made
  },
}

let server: Promise<PostgresServer> | undefined

/** Returns the PostgreSQL of this process: started on first use, gone with the process. */
export function sharedPostgres(): Promise<PostgresServer> {
  server ??= startPostgres()
  return server
}

const POSTGRES: DatabaseKind = {
  name: 'PostgreSQL',
  skip: whyNoPostgres(),
  open: async () => {
    const url = await (await sharedPostgres()).createDatabase()
    const database = new PostgresDatabase({ url, log: createLog('silent') })
    await database.start()
    return database
  },
}

const isLong = process.env.CARTBARN_TEST_LONG !== undefined

/** Databases for suites about the database. */
export const DATABASE_KINDS: readonly DatabaseKind[] = [PGLITE, POSTGRES]

/**
 * Database for all other suites: PostgreSQL if available, where a database costs a twentieth of one of PGlite. Set
 * CARTBARN_TEST_LONG=1 for PGlite.
 */
export const ANY_DATABASE: DatabaseKind = POSTGRES.skip === false && !isLong ? POSTGRES : PGLITE

/** Databases for long suites whose statements are also covered elsewhere: both with CARTBARN_TEST_LONG=1. */
export const LONG_SUITE_KINDS: readonly DatabaseKind[] = isLong ? DATABASE_KINDS : [ANY_DATABASE]

/** Returns the reason why there is no PostgreSQL; in CI it is required, and tests fail instead. */
export function whyNoPostgres(): string | false {
  if (process.env.CI || findPostgres() !== undefined) return false
  return `no PostgreSQL for ${process.platform}-${process.arch}`
}
