import Database from 'better-sqlite3'
import { databasePath } from '#store/db/files.ts'

/** Opens the database of a gateway, which may be running, for `read`. */
export function readDatabase<Result>(dataDir: string, read: (db: Database.Database) => Result): Result {
  const db = new Database(databasePath(dataDir), { readonly: true, fileMustExist: true })
  try {
    return read(db)
  } finally {
    db.close()
  }
}
