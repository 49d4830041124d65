import { after } from 'node:test'
import type { Database } from '#hub/store/database/database.ts'
import { PgliteDatabase } from '#hub/store/database/pglite.ts'
import { PostgresDatabase } from '#hub/store/database/postgres.ts'
import { createSchema } from '#hub/store/database/schema.ts'
import { createLog } from '#shared/log.ts'
import { pgliteTemplate } from './pglite-template.ts'
import { findPostgres } from './postgres-binaries.ts'
import { type PostgresServer, startPostgres } from './start-postgres.ts'

/** A database a suite of tests is run on. */
export interface DatabaseKind {
  readonly name: string
  /** Why it cannot be had here, or false: what `describe` and `test` take. */
  readonly skip: string | false
  /** An empty one of its own, started. */
  open(): Promise<Database>
}

/** Stopped ones: to empty one takes a tenth of what it takes to start another. */
const idle: KeptPglite[] = []
let isLast = false

// the hooks of the tests that stop their databases come after this one
after(async () => {
  isLast = true
  for (const database of idle.splice(0)) await database.stop()
})

/** One that the next test of this process gets when this one has stopped it. */
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

/** The PostgreSQL of this process: started when it is first asked for, gone with the process. */
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

/** What every suite about the database runs on. */
export const DATABASE_KINDS: readonly DatabaseKind[] = [PGLITE, POSTGRES]

/**
 * What everything else runs on: PostgreSQL where there is one, of which a database costs a twentieth of one of PGlite.
 * Set CARTBARN_TEST_LONG=1 for PGlite.
 */
export const ANY_DATABASE: DatabaseKind = POSTGRES.skip === false && !isLong ? POSTGRES : PGLITE

/** What suites run on that take long and whose statements are those of others: with CARTBARN_TEST_LONG=1 on both. */
export const LONG_SUITE_KINDS: readonly DatabaseKind[] = isLong ? DATABASE_KINDS : [ANY_DATABASE]

/** Where tests count (CI) it must be there: then they fail instead. */
export function whyNoPostgres(): string | false {
  if (process.env.CI || findPostgres() !== undefined) return false
  return `no PostgreSQL for ${process.platform}-${process.arch}`
}
