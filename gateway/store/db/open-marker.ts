import {
  type BigIntStats,
  closeSync,
  openSync,
  readFileSync,
  readSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import type Database from 'better-sqlite3'
import { ConfigError } from '#shared/errors.ts'
import { syncPath } from '#shared/files/durable.ts'
import { typedCommand } from '#shared/typed-command.ts'
import { storeFaultCode } from './fault.ts'

/** "CART"; set in each database from schema 28 on. */
export const APPLICATION_ID = 0x43415254
/** "CARO"; a gateway has the database open, or was killed. In the database, as users may copy it alone. */
export const OPEN_APPLICATION_ID = 0x4341524f
/** https://sqlite.org/fileformat2.html#the_database_header */
const HEADER_BYTES = 100
const APPLICATION_ID_AT = 68
/** ext2-4, XFS, Btrfs, F2FS, ZFS, tmpfs, overlay: a file keeps its inode number for life, even across a power cut. */
const KEEPS_NUMBERS = [0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0x01021994, 0x794c7630]

/** Attributes that distinguish a file from its copies. */
interface FileIdentity {
  inode: string
  /** Creation time of the file in ns; null if unknown. */
  bornNs: string | null
}

/** Path of the file next to an open database that identifies the database file. */
export function openFileOf(path: string): string {
  return `${path}-open`
}

/**
 * Marks a database as open, so that a gateway that starts with a copy can detect this. The mark is in the first page,
 * which a copy shares; the identity of the file is in a second file, which a copy does not match. Nothing is marked on
 * file systems without lasting inode numbers, or if the disk rejects the write; copies are not detected then.
 */
export function setOpenMarker(db: Database.Database, path: string): void {
  if (applicationIdOf(db) !== APPLICATION_ID || !KEEPS_NUMBERS.includes(statfsSync(dirname(path)).type)) return
  try {
    // written first: a mark without its file would keep an intact gateway from starting
    noteOpenFile(path)
    setApplicationId(db, OPEN_APPLICATION_ID)
  } catch (error) {
    if (storeFaultCode(error) === null && !(error instanceof Error && 'code' in error)) throw error
  }
}

/** Clears the mark of a database. Called when its log is empty. Throws the errors of SQLite. */
export function clearOpenMarker(db: Database.Database): void {
  if (applicationIdOf(db) === OPEN_APPLICATION_ID) setApplicationId(db, APPLICATION_ID)
}

/** Records the identity of the open database file at this path. */
export function noteOpenFile(path: string): void {
  const file = openFileOf(path)
  writeFileSync(file, `${JSON.stringify(identityOf(path))}\n`, { mode: 0o600, flush: true })
  syncPath(dirname(path))
}

/**
 * Throws a `ConfigError` for people when the file is a copy of a database that was open: content of its log, or writes
 * during the copy, may be missing. The original passes, however its gateway ended. Does not open the database.
 */
export function requireWholeCopy(path: string): void {
  if (!isMarkedOpen(path) || isSameFile(notedIn(openFileOf(path)), identityOf(path))) return
  throw new ConfigError(
    `${path} was copied while a gateway had it open, so the latest data may be missing; nothing was changed. ` +
      `Stop the first gateway and copy its whole folder again, or use ${typedCommand('backup')} there and ` +
      `${typedCommand('restore')} here. If there is no other, ${typedCommand('repair')} creates a database from ` +
      'its content',
  )
}

function setApplicationId(db: Database.Database, id: number): void {
  db.pragma(`application_id = ${id}`)
  // a copy of the database file alone has the mark only once it has left the log
  db.pragma('wal_checkpoint(TRUNCATE)')
}

function applicationIdOf(db: Database.Database): unknown {
  return db.pragma('application_id', { simple: true })
}

function identityOf(path: string): FileIdentity {
  const stats = statSync(path, { bigint: true })
  return { inode: String(stats.ino), bornNs: bornNsOf(stats) }
}

// file systems without a creation time report 0, or the time of the last change
function bornNsOf({ birthtimeNs, ctimeNs }: BigIntStats): string | null {
  return birthtimeNs === 0n || birthtimeNs === ctimeNs ? null : String(birthtimeNs)
}

function isSameFile(noted: FileIdentity | null, found: FileIdentity): boolean {
  if (noted === null || noted.inode !== found.inode) return false
  // the file system reuses the inode number of a deleted file
  return noted.bornNs === null || found.bornNs === null || noted.bornNs === found.bornNs
}

function notedIn(file: string): FileIdentity | null {
  try {
    const { inode, bornNs }: Partial<FileIdentity> = JSON.parse(readFileSync(file, 'utf8'))
    return inode === undefined || bornNs === undefined ? null : { inode, bornNs }
  } catch {
    return null
  }
}

/** Reads the mark from the file alone, as a leftover log may not match. False if unreadable, handled elsewhere. */
export function isMarkedOpen(path: string): boolean {
  const header = Buffer.alloc(HEADER_BYTES)
  try {
    const file = openSync(path, 'r')
    try {
      if (readSync(file, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return false
    } finally {
      closeSync(file)
    }
  } catch {
    return false
  }
  return header.readUInt32BE(APPLICATION_ID_AT) === OPEN_APPLICATION_ID
}
