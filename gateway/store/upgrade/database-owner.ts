import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { type Connection, openReader } from '../db/connection.ts'
import { APPLICATION_ID, OPEN_APPLICATION_ID } from '../db/open-marker.ts'
import { sumsOf } from '../replace/replace-database.ts'

const OURS: readonly unknown[] = [APPLICATION_ID, OPEN_APPLICATION_ID]
/** Schemas whose databases do not say that they are ours. */
const LAST_UNNAMED = 27
const MAGIC = 'SQLite format 3\0'
/** https://sqlite.org/fileformat2.html#the_database_header */
const HEADER_BYTES = 100
const USER_VERSION_AT = 60
const APPLICATION_ID_AT = 68
/** A file of checksums that is larger was kept for a database that had something in it. */
const SUMS_OF_NOTHING_BYTES = 1024

/**
 * Throws an `Error` in words when the file is the database of another program, or is empty where a database was;
 * nothing is opened for that, so that nothing of another program is touched.
 */
export function requireOwnFile(path: string): void {
  const bytes = sizeOf(path)
  if (bytes === 0 && sizeOf(`${path}-wal`) === 0 && sizeOf(sumsOf(path)) > SUMS_OF_NOTHING_BYTES)
    throw new Error(
      `${path} is empty, and a database was here before: put a backup in its place; to begin with nothing, delete ${path} and ${sumsOf(path)}`,
    )
  const header = headerOf(path)
  // what is no database, or no whole one, is a case for a repair
  if (bytes < HEADER_BYTES || header.toString('latin1', 0, MAGIC.length) !== MAGIC) return
  const applicationId = header.readUInt32BE(APPLICATION_ID_AT)
  if (OURS.includes(applicationId)) return
  const schema = header.readUInt32BE(USER_VERSION_AT)
  // the header may be behind the log
  const isComplete = sizeOf(`${path}-wal`) === 0
  const mayBeOurs = schema === 0 ? bytes <= pageBytesOf(header) : schema <= LAST_UNNAMED
  if (applicationId !== 0 || (isComplete && !mayBeOurs)) throw notOurs(path)
}

/** The same by what is in it, for a file that says nothing of whose it is. */
export function requireOwnTables(path: string): void {
  if (sizeOf(path) === 0) return
  const names = tablesOfUnnamed(path)
  // one that is damaged is a case for those who read it next
  if (names !== null && names.length > 0 && !names.includes('device_state')) throw notOurs(path)
}

/** Null when it is known to be ours, or cannot be read. */
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
    `${path} is the database of another program, and nothing in it was changed: choose another folder with CARTBARN_DATA_DIR, or move the file away`,
  )
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/** What there is; nothing where the disk does not return it. */
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
