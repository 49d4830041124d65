import type { Database } from '#hub/store/database/database.ts'
import { PgliteDatabase } from '#hub/store/database/pglite.ts'
import { PostgresDatabase } from '#hub/store/database/postgres.ts'
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

const PGLITE: DatabaseKind = {
  name: 'PGlite',
  skip: false,
  open: async () => {
    const database = new PgliteDatabase(undefined, await pgliteTemplate())
    await database.start()
    return database
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

/** What every suite about the database runs on. */
export const DATABASE_KINDS: readonly DatabaseKind[] = [PGLITE, POSTGRES]

/** Where tests count (CI) it must be there: then they fail instead. */
export function whyNoPostgres(): string | false {
  if (process.env.CI || findPostgres() !== undefined) return false
  return `no PostgreSQL for ${process.platform}-${process.arch}`
}
