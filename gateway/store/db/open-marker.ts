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

/** "CART", in each database from schema 28 on. */
export const APPLICATION_ID = 0x43415254
/**
 * "CARO": a gateway has it open, or was ended without a stop. It is in the database itself, as only that may be copied.
 */
export const OPEN_APPLICATION_ID = 0x4341524f
/** https://sqlite.org/fileformat2.html#the_database_header */
const HEADER_BYTES = 100
const APPLICATION_ID_AT = 68
/**
 * ext2 to 4, XFS, Btrfs, F2FS, ZFS, tmpfs, overlay: a file keeps its number as long as it is there, also over a power
 * cut.
 */
const KEEPS_NUMBERS = [0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0x01021994, 0x794c7630]

/** What tells a file from a copy of it. */
interface FileIdentity {
  inode: string
  /** When the file was made, in nanoseconds; null where that is not known. */
  bornNs: string | null
}

/** Beside a database that is open: which file it is. */
export function openFileOf(path: string): string {
  return `${path}-open`
}

/**
 * Marks a database as open, for whoever starts with a copy of it: in its first page, which a copy has, and beside it as
 * which file, which a copy is not. Nothing is marked where files have no lasting numbers, or where the disk takes
 * nothing: then copies are not told.
 */
export function setOpenMarker(db: Database.Database, path: string): void {
  if (applicationIdOf(db) !== APPLICATION_ID || !KEEPS_NUMBERS.includes(statfsSync(dirname(path)).type)) return
  try {
    // before: a mark without its file would keep an intact gateway from starting
    noteOpenFile(path)
    setApplicationId(db, OPEN_APPLICATION_ID)
  } catch (error) {
    if (storeFaultCode(error) === null && !(error instanceof Error && 'code' in error)) throw error
  }
}

/** Takes the mark from a database: nothing is in its log that is not in it. Throws what SQLite throws. */
export function clearOpenMarker(db: Database.Database): void {
  if (applicationIdOf(db) === OPEN_APPLICATION_ID) setApplicationId(db, APPLICATION_ID)
}

/** Says that the open database at this path is this file. */
export function noteOpenFile(path: string): void {
  const file = openFileOf(path)
  writeFileSync(file, `${JSON.stringify(identityOf(path))}\n`, { mode: 0o600, flush: true })
  syncPath(dirname(path))
}

/**
 * Throws a `ConfigError` in words when the file is a copy of a database that was open: what was in its log, or came
 * while it was copied, may be missing. The file that was open passes, however its gateway was ended. Nothing is opened
 * for that.
 */
export function requireWholeCopy(path: string): void {
  if (!isMarkedOpen(path) || isSameFile(notedIn(openFileOf(path)), identityOf(path))) return
  throw new ConfigError(
    `${path} was copied while a gateway had it open, so that what was stored last may be missing in it; nothing was changed. Stop the first gateway and copy its whole folder again, or use ${typedCommand('backup')} there and ${typedCommand('restore')} here. If there is no other, ${typedCommand('repair')} makes a database of what this one has`,
  )
}

function setApplicationId(db: Database.Database, id: number): void {
  db.pragma(`application_id = ${id}`)
  // a copy of the database alone has it only when it is not in the log
  db.pragma('wal_checkpoint(TRUNCATE)')
}

function applicationIdOf(db: Database.Database): unknown {
  return db.pragma('application_id', { simple: true })
}

function identityOf(path: string): FileIdentity {
  const stats = statSync(path, { bigint: true })
  return { inode: String(stats.ino), bornNs: bornNsOf(stats) }
}

// where nothing is known of it, it is 0, or the time of the last change stands for it
function bornNsOf({ birthtimeNs, ctimeNs }: BigIntStats): string | null {
  return birthtimeNs === 0n || birthtimeNs === ctimeNs ? null : String(birthtimeNs)
}

function isSameFile(noted: FileIdentity | null, found: FileIdentity): boolean {
  if (noted === null || noted.inode !== found.inode) return false
  // the number of a file that was deleted is given again
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

/** By the file alone: what its log says may be of another time. False when it cannot be read, which is another case. */
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
