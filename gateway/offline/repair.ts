import { copyFileSync, existsSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describeError } from '#shared/errors.ts'
import { freeBytesIn, megabytes } from '#shared/files/free-space.ts'
import { createLog } from '#shared/log.ts'
import { checkLog } from '#store/damage/log-check.ts'
import { requireReadableDisk } from '#store/damage/readable-disk.ts'
import type { RecoveredRows } from '#store/damage/recover-table.ts'
import { isUnreadable } from '#store/damage/unreadable.ts'
import { pagesWithWrongBit } from '#store/damage/wrong-bits.ts'
import { type Connection, openUncheckedReader } from '#store/db/connection.ts'
import { databasePath } from '#store/db/files.ts'
import { PageSums } from '#store/pages/page-sums.ts'
import { RawPages } from '#store/repair/raw-pages.ts'
import { type Rebuilt, rebuildDatabase } from '#store/repair/rebuild-database.ts'
import { type RecreatedSchema, recreateSchema } from '#store/repair/recreate-schema.ts'
import { NewDatabase } from '#store/replace/new-database.ts'
import { linkOld, openOld } from '#store/replace/old-database.ts'
import { keptFolder, moveDatabase, replaceDatabase, sumsOf } from '#store/replace/replace-database.ts'
import { requireDatabase, StoppedFolder } from './stopped-folder.ts'

/** The new database, as long as it is not in its place. */
const REPAIRED = 'cartbarn-repaired.db'
/** What a repair works on; what another one left is of no use. */
const WORK = 'repair-unfinished'

/** What a repair tells while it works, and asks. */
export interface RepairDialogue {
  /** Bytes the new database may need, and those that are free. */
  space(neededBytes: number, freeBytes: number): void
  /**
   * The extension that keeps checksums of pages is not there for this system: nothing is known of what they would show.
   */
  noChecksums(): void
  /** What was wrong with the log of the old database, in words. */
  logDamage(detail: string): void
  /** Pages of the old database of which one bit was wrong; what was written there is in the new one. */
  wrongBits(pages: readonly number[]): void
  /** The list of the tables was damaged, and made anew. */
  schemaDamage(schema: RecreatedSchema): void
  table(salvaged: RecoveredRows): void
  /** The new database is whole, at this path: whether it is to be put into its place. */
  mayReplace(rebuilt: Rebuilt, path: string): Promise<boolean>
}

/** What a repair came to; `keptIn` is the folder with the old database, null when that is still in its place. */
export interface Repaired {
  path: string
  keptIn: string | null
}

/**
 * Makes a new database from what can be read of the one in the folder, and puts it into its place if that is wanted.
 * What was there is not changed, and what root makes is the owner's of the folder. Throws an `Error` in words: a
 * gateway is running, there is no database or not enough space, the list of its tables cannot be read, or the new one
 * is not in order.
 */
export async function repairDatabase(dataDir: string, atMs: number, dialogue: RepairDialogue): Promise<Repaired> {
  requireDatabase(dataDir)
  try {
    return await repairLocked(dataDir, atMs, dialogue)
  } catch (error) {
    throw withWayOut(error, dataDir)
  }
}

async function repairLocked(dataDir: string, atMs: number, dialogue: RepairDialogue): Promise<Repaired> {
  const folder = new StoppedFolder(dataDir, WORK)
  folder.take()
  try {
    // sectors that are lost are gone round, but a disk that is gone must not be taken for an empty one
    requireReadableDisk(databasePath(dataDir))
    requireSpace(dataDir, dialogue)
    folder.makeWork()
    const rebuilt = rebuild(dataDir, folder.work, atMs, dialogue)
    const path = join(dataDir, REPAIRED)
    moveDatabase(join(folder.work, REPAIRED), path)
    if (!(await dialogue.mayReplace(rebuilt, path))) return { path, keptIn: null }
    const keptIn = keptFolder(dataDir, 'damaged', atMs)
    replaceDatabase(dataDir, path, keptIn)
    return { path: databasePath(dataDir), keptIn }
  } finally {
    folder.release()
  }
}

function rebuild(dataDir: string, work: string, atMs: number, dialogue: RepairDialogue): Rebuilt {
  const repaired = new NewDatabase(join(work, REPAIRED))
  const open: { close(): void }[] = [repaired]
  try {
    if (!repaired.hasSums) dialogue.noChecksums()
    const path = linkOld(dataDir, work)
    checkPages(dataDir, path)
    const logDamage = checkLog(path, atMs)
    if (logDamage !== null) dialogue.logDamage(logDamage.detail)
    const pages = new RawPages(path)
    open.push(pages)
    const checked = openChecked(path, pages, dialogue)
    open.push(checked)
    const unchecked = openUncheckedReader(path)
    open.push(unchecked)
    const old = { checked, unchecked, pages }
    const rebuilt = rebuildDatabase(old, repaired.tables, (salvaged) => dialogue.table(salvaged))
    const wrong = pagesWithWrongBit(checked)
    if (wrong.length > 0) dialogue.wrongBits(wrong)
    if (rebuilt.problems.length > 0)
      throw new Error(`the new database is not in order, so nothing was replaced: ${rebuilt.problems[0]}`)
    return rebuilt
  } finally {
    for (const one of open.reverse()) one.close()
  }
}

// a copy: checksums that are of no use are made anew
function checkPages(dataDir: string, old: string): void {
  const sums = sumsOf(databasePath(dataDir))
  if (!existsSync(sums)) return
  copyFileSync(sums, sumsOf(old))
  new PageSums(old, createLog('silent')).prepare()
}

function openChecked(path: string, pages: RawPages, dialogue: RepairDialogue): Connection {
  try {
    return openOld(path)
  } catch (error) {
    if (!isUnreadable(error)) throw error
    const schema = recreateSchema(pages, path, `${path}-schema`)
    if (schema === null)
      throw new Error(
        `the list of the tables itself cannot be read (${describeError(error)}), so nothing in the database can be found: put a backup in its place`,
        { cause: error },
      )
    dialogue.schemaDamage(schema)
    rmSync(`${path}-shm`, { force: true })
    return openOld(path)
  }
}

function requireSpace(dataDir: string, dialogue: RepairDialogue): void {
  const path = databasePath(dataDir)
  const logBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  // the log may have pages of the database, or new ones, and is copied
  const neededBytes = statSync(path).size + 2 * logBytes
  const freeBytes = freeBytesIn(dataDir)
  dialogue.space(neededBytes, freeBytes)
  if (freeBytes < neededBytes)
    throw new Error(
      `not enough space for a second database: it needs ${megabytes(neededBytes)} and ${megabytes(freeBytes)} are free in ${dataDir}; ${orElsewhere('free some')}`,
    )
}

function orElsewhere(cure: string): string {
  return `${cure}, or copy cartbarn.db* to a folder on another disk and repair it there with --data`
}

/** What a person can do about a disk that takes nothing. */
function withWayOut(error: unknown, dataDir: string): unknown {
  const fault = error instanceof Error && error.cause !== undefined ? error.cause : error
  const code = fault instanceof Error && 'code' in fault ? String(fault.code) : ''
  const [problem, cure] = /^(SQLITE_FULL|ENOSPC|EDQUOT)/.test(code)
    ? ['the disk is full', 'free some space']
    : /^(SQLITE_READONLY|SQLITE_CANTOPEN|EROFS|EACCES|EPERM)/.test(code)
      ? ['the folder cannot be written', 'make it writable for this user']
      : /^(EIO|SQLITE_IOERR_CORRUPTFS)/.test(code)
        ? ['the disk does not return what is on it', 'see to its cable']
        : []
  if (problem === undefined || cure === undefined) return error
  const text = `${problem} (${dataDir}): nothing was replaced; ${orElsewhere(cure)}`
  return new Error(text, { cause: error })
}
