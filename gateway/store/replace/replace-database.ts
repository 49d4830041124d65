import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { syncPath } from '#shared/files/durable.ts'
import { changeOwner } from '#shared/files/owner.ts'
import { DAMAGE_NOTES, DATABASE, DATABASE_INDEX_OF_LOG, DATABASE_LOG, OPEN_MARK, PAGE_SUMS } from '../db/files.ts'

/** Name of a complete database that replaces the current one; giving it this name is the atomic step. */
const SUCCESSOR = 'cartbarn.db-successor'
/** Folder for the unfinished database of a restore. */
export const RESTORE_WORK = 'restore-unfinished'
/** Folder for the database that a running gateway's restore fetches from the hub; a second attempt continues it. */
export const FETCHED_WORK = 'fetched-from-hub'
const NEXT_TO_IT = [DATABASE_LOG, PAGE_SUMS, OPEN_MARK]

/**
 * Replaces the database of the folder, which no connection has open, with one that is on the disk. Keeps the old one,
 * with its log if there is one, in the folder `kept`; null if it is of no use. After a kill at any moment, one or the
 * other is in place once `finishReplacement` ran, as it does at each start. As root, the new one is first given to the
 * owner of the folder.
 */
export function replaceDatabase(dataDir: string, path: string, kept: string | null): void {
  if (kept !== null) keepDatabase(dataDir, kept)
  changeOwner(dataDir)
  moveDatabase(path, join(dataDir, SUCCESSOR))
  syncFolder(dataDir)
  finishReplacement(dataDir)
}

/** Returns the folder for a database that was replaced at this time. */
export function keptFolder(dataDir: string, name: string, atMs: number): string {
  return join(dataDir, `${name}-${new Date(atMs).toISOString().replace(/[:.]/g, '-')}`)
}

function keepDatabase(dataDir: string, kept: string): void {
  const files = [DATABASE, ...NEXT_TO_IT].filter((file) => existsSync(join(dataDir, file)))
  if (files.length === 0) return
  mkdirSync(kept, { mode: 0o700 })
  for (const file of files) linkOrCopy(join(dataDir, file), join(kept, file))
  syncFolder(kept)
  syncFolder(dataDir)
}

/** Finishes an interrupted replacement. The caller holds the folder's lock. Throws errors of the file system. */
export function finishReplacement(dataDir: string): void {
  const successor = join(dataDir, SUCCESSOR)
  if (!existsSync(successor)) {
    // left over from a replacement that was killed before it began
    rmSync(sumsOf(successor), { force: true })
    return
  }
  // the old log would be applied to the new database, so its removal must reach the disk first
  for (const name of [...NEXT_TO_IT, DATABASE_INDEX_OF_LOG, DAMAGE_NOTES]) rmSync(join(dataDir, name), { force: true })
  syncFolder(dataDir)
  moveDatabase(successor, join(dataDir, DATABASE))
  syncFolder(dataDir)
}

/** Moves a database that no connection has open, with an empty log. Checksums move first; lost ones are recreated. */
export function moveDatabase(from: string, to: string): void {
  for (const end of ['-wal', '-shm']) for (const path of [from, to]) rmSync(path + end, { force: true })
  if (existsSync(sumsOf(from))) renameSync(sumsOf(from), sumsOf(to))
  // checksums of another database
  else rmSync(sumsOf(to), { force: true })
  renameSync(from, to)
}

/** Flushes a database that no connection has open to the disk, with its checksums. */
export function syncDatabase(path: string): void {
  syncPath(path)
  if (existsSync(sumsOf(path))) syncPath(sumsOf(path))
}

export function sumsOf(path: string): string {
  return `${path}-sums`
}

/** Creates a hard link, or a copy if the file system has no links. */
export function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch {
    copyFileSync(from, to, constants.COPYFILE_FICLONE)
    // the time of the last write shows whether checksums belong to this file
    const { atime, mtime } = statSync(from)
    utimesSync(to, atime, mtime)
    syncPath(to)
  }
}

function syncFolder(folder: string): void {
  try {
    syncPath(folder)
  } catch (error) {
    throw new Error(`the folder ${basename(folder)} cannot be synced`, { cause: error })
  }
}
