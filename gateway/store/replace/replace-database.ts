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

/** A whole database under this name takes the place of the other: the step from one to the other is this name alone. */
const SUCCESSOR = 'cartbarn.db-successor'
const NEXT_TO_IT = [DATABASE_LOG, PAGE_SUMS, OPEN_MARK]

/**
 * Puts a database, which is on the disk, into the place of the one in the folder, which nobody has open, and keeps that
 * one with its log, if there is one, in the folder `kept`; null for one that is of no use any more. Killed at any
 * moment, one or the other is in place once `finishReplacement` ran, as each start does. As root it is given to the
 * owner of the folder before.
 */
export function replaceDatabase(dataDir: string, path: string, kept: string | null): void {
  if (kept !== null) keepDatabase(dataDir, kept)
  changeOwner(dataDir)
  moveDatabase(path, join(dataDir, SUCCESSOR))
  syncFolder(dataDir)
  finishReplacement(dataDir)
}

/** The folder that a database which was replaced at this time is kept in. */
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

/** Finishes a replacement that was begun. The folder must be locked. Throws what the file system throws. */
export function finishReplacement(dataDir: string): void {
  const successor = join(dataDir, SUCCESSOR)
  if (!existsSync(successor)) {
    // of one that was killed before it began
    rmSync(sumsOf(successor), { force: true })
    return
  }
  // the log of the one would be applied to the other: it must be gone on the disk before
  for (const name of [...NEXT_TO_IT, DATABASE_INDEX_OF_LOG, DAMAGE_NOTES]) rmSync(join(dataDir, name), { force: true })
  syncFolder(dataDir)
  moveDatabase(successor, join(dataDir, DATABASE))
  syncFolder(dataDir)
}

/**
 * Moves a database that nobody has open, whose log is empty. Its checksums go first: without them they are made again.
 */
export function moveDatabase(from: string, to: string): void {
  for (const end of ['-wal', '-shm']) for (const path of [from, to]) rmSync(path + end, { force: true })
  if (existsSync(sumsOf(from))) renameSync(sumsOf(from), sumsOf(to))
  // of another one
  else rmSync(sumsOf(to), { force: true })
  renameSync(from, to)
}

/** Brings a database that nobody has open to the disk, with its checksums. */
export function syncDatabase(path: string): void {
  syncPath(path)
  if (existsSync(sumsOf(path))) syncPath(sumsOf(path))
}

/** Where the checksums of the pages of a database are. */
export function sumsOf(path: string): string {
  return `${path}-sums`
}

/** The same file under a second name, or a copy where the file system has no links. */
export function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch {
    copyFileSync(from, to, constants.COPYFILE_FICLONE)
    // checksums of pages are told by it whether they are of this file
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
