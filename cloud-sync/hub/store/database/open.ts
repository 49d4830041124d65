import type { Log } from '#shared/log.ts'
import type { Database } from './database.ts'
import { PgliteDatabase } from './pglite.ts'
import { PostgresDatabase } from './postgres.ts'

export interface DatabaseOptions {
  /** `postgres://…`; undefined for the embedded one. */
  readonly url: string | undefined
  /** Where the embedded one is. */
  readonly dataDir: string
  readonly log: Log
}

/** The database of a hub; it has the schema once it is started. */
export function openDatabase({ url, dataDir, log }: DatabaseOptions): Database {
  return url === undefined ? new PgliteDatabase(dataDir) : new PostgresDatabase({ url, log })
}
