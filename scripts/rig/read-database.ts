import { join } from 'node:path'
import Database from 'better-sqlite3'

/** Lets `read` look into the database of a gateway, which may be running. */
export function readDatabase<Result>(dataDir: string, read: (db: Database.Database) => Result): Result {
  const db = new Database(join(dataDir, 'cartbarn.db'), { readonly: true, fileMustExist: true })
  try {
    return read(db)
  } finally {
    db.close()
  }
}
