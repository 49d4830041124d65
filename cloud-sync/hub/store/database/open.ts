import type { Log } from '#shared/log.ts'
import type { Database } from './database.ts'
import { PgliteDatabase } from './pglite.ts'
import { PostgresDatabase } from './postgres.ts'

export interface DatabaseOptions {
  /** `postgres://…`; undefined selects the embedded database. */
  readonly url: string | undefined
  /** Folder of the embedded database. */
  readonly dataDir: string
  readonly log: Log
}

/** Creates the database of a hub; `start` creates the schema. */
export function openDatabase({ url, dataDir, log }: DatabaseOptions): Database {
  return url === undefined ? new PgliteDatabase(dataDir) : new PostgresDatabase({ url, log })
}
