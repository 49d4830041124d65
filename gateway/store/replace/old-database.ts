import { constants, copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Connection, openReader } from '../db/connection.ts'
import { DATABASE_LOG, databasePath } from '../db/files.ts'
import { linkOrCopy } from './replace-database.ts'

/** Links the database in `work`, with a copy of its log: SQLite's own files go there, and reading changes nothing. */
export function linkOld(dataDir: string, work: string): string {
  const path = join(work, 'old.db')
  linkOrCopy(databasePath(dataDir), path)
  const log = join(dataDir, DATABASE_LOG)
  if (existsSync(log)) copyFileSync(log, `${path}-wal`, constants.COPYFILE_FICLONE)
  return path
}

/** Opens a database for reading. Throws the errors of SQLite if not even its schema can be read. */
export function openOld(path: string): Connection {
  const connection = openReader(path)
  try {
    connection.all('SELECT name FROM sqlite_schema')
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

/** Runs `use` while another database is attached to the connection as `earlier`. */
export function withEarlier<Result>(connection: Connection, path: string, use: () => Result): Result {
  connection.run('ATTACH ? AS earlier', path)
  try {
    return use()
  } finally {
    connection.run('DETACH earlier')
  }
}
