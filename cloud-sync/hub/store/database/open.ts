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

/** The database of a hub; `start` creates the schema. */
export function openDatabase({ url, dataDir, log }: DatabaseOptions): Database {
  return url === undefined ? new PgliteDatabase(dataDir) : new PostgresDatabase({ url, log })
}
