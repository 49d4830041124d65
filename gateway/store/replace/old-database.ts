import { constants, copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Connection, openReader } from '../db/connection.ts'
import { DATABASE_LOG, databasePath } from '../db/files.ts'
import { linkOrCopy } from './replace-database.ts'

/**
 * Gives the database of a folder a second name in the folder `work`, with a copy of its log: SQLite makes its own files
 * next to that name, and nothing of the database is changed as long as it is only read.
 */
export function linkOld(dataDir: string, work: string): string {
  const path = join(work, 'old.db')
  linkOrCopy(databasePath(dataDir), path)
  const log = join(dataDir, DATABASE_LOG)
  if (existsSync(log)) copyFileSync(log, `${path}-wal`, constants.COPYFILE_FICLONE)
  return path
}

/** Opens a database to be read. Throws what SQLite throws when not even the list of its tables can be read. */
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

/** Runs `use` while another database is attached to a connection, as `earlier`. */
export function withEarlier<Result>(connection: Connection, path: string, use: () => Result): Result {
  connection.run('ATTACH ? AS earlier', path)
  try {
    return use()
  } finally {
    connection.run('DETACH earlier')
  }
}
