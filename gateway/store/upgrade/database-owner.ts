import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { type Connection, openReader } from '../db/connection.ts'
import { APPLICATION_ID, OPEN_APPLICATION_ID } from '../db/open-marker.ts'
import { sumsOf } from '../replace/replace-database.ts'

const OURS: readonly unknown[] = [APPLICATION_ID, OPEN_APPLICATION_ID]
/** Last schema version whose databases have no application id. */
const LAST_UNNAMED = 27
const MAGIC = 'SQLite format 3\0'
/** https://sqlite.org/fileformat2.html#the_database_header */
const HEADER_BYTES = 100
const USER_VERSION_AT = 60
const APPLICATION_ID_AT = 68
/** Maximum size of the file of checksums of an empty database; a larger one belonged to a database with content. */
const SUMS_OF_NOTHING_BYTES = 1024

/**
 * Throws an `Error` with a readable message if the file is the database of another program, or empty although it had
 * content. Does not open the database, so that nothing of another program is changed.
 */
export function requireOwnFile(path: string): void {
  const bytes = sizeOf(path)
  if (bytes === 0 && sizeOf(`${path}-wal`) === 0 && sizeOf(sumsOf(path)) > SUMS_OF_NOTHING_BYTES)
    throw new Error(
      `${path} is empty, but had a database before: restore a backup; to begin with an empty database, delete ` +
        `${path} and ${sumsOf(path)}`,
    )
  const header = headerOf(path)
  // a file that is not a database, or not a whole one, is a case for a repair
  if (bytes < HEADER_BYTES || header.toString('latin1', 0, MAGIC.length) !== MAGIC) return
  const applicationId = header.readUInt32BE(APPLICATION_ID_AT)
  if (OURS.includes(applicationId)) return
  const schema = header.readUInt32BE(USER_VERSION_AT)
  // the log may have a newer header
  const isComplete = sizeOf(`${path}-wal`) === 0
  const mayBeOurs = schema === 0 ? bytes <= pageBytesOf(header) : schema <= LAST_UNNAMED
  if (applicationId !== 0 || (isComplete && !mayBeOurs)) throw notOurs(path)
}

/** Checks the tables of a file whose header does not identify the program. */
export function requireOwnTables(path: string): void {
  if (sizeOf(path) === 0) return
  const names = tablesOfUnnamed(path)
  // a damaged one is left to the next reader
  if (names !== null && names.length > 0 && !names.includes('device_state')) throw notOurs(path)
}

/** Returns the names of the tables; null if the database is known to be ours, or cannot be read. */
function tablesOfUnnamed(path: string): string[] | null {
  let connection: Connection | undefined
  try {
    connection = openReader(path)
    if (OURS.includes(connection.db.pragma('application_id', { simple: true }))) return null
    const tables = connection.all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    return tables.map(({ name }) => name)
  } catch {
    return null
  } finally {
    connection?.close()
  }
}

function notOurs(path: string): Error {
  return new Error(
    `${path} is the database of another program, and nothing in it was changed: choose another folder with ` +
      'CARTBARN_DATA_DIR, or move the file away',
  )
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/** Reads the header as far as it exists; returns no bytes if the disk does not return them. */
function headerOf(path: string): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  try {
    const file = openSync(path, 'r')
    try {
      readSync(file, header, 0, HEADER_BYTES, 0)
    } finally {
      closeSync(file)
    }
  } catch {
    header.fill(0)
  }
  return header
}

// big-endian at 16; 1 stands for 65536
function pageBytesOf(header: Buffer): number {
  const stored = header.readUInt16BE(16)
  return stored === 1 ? 65_536 : stored
}
