import { copyFileSync, existsSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describeError } from '#shared/errors.ts'
import { freeBytesIn, megabytes } from '#shared/files/free-space.ts'
import { createLog } from '#shared/log.ts'
import { checkLog } from '#store/damage/log-check.ts'
import type { RecoveredRows } from '#store/damage/recover-table.ts'
import { isUnreadable } from '#store/damage/unreadable.ts'
import { pagesWithWrongBit } from '#store/damage/wrong-bits.ts'
import { type Connection, openUncheckedReader } from '#store/db/connection.ts'
import { databasePath } from '#store/db/files.ts'
import { requireReadableDisk } from '#store/db/readable-disk.ts'
import { PageSums } from '#store/pages/page-sums.ts'
import { RawPages } from '#store/repair/raw-pages.ts'
import { type Rebuilt, rebuildDatabase } from '#store/repair/rebuild-database.ts'
import { type RecreatedSchema, recreateSchema } from '#store/repair/recreate-schema.ts'
import { NewDatabase } from '#store/replace/new-database.ts'
import { linkOld, openOld } from '#store/replace/old-database.ts'
import { keptFolder, moveDatabase, replaceDatabase, sumsOf } from '#store/replace/replace-database.ts'
import { requireDatabase, StoppedFolder } from './stopped-folder.ts'

/** New database before it is in place. */
const REPAIRED = 'cartbarn-repaired.db'
/** Work folder of a repair; one left by an earlier repair is of no use. */
const WORK = 'repair-unfinished'

/** Progress messages and questions of a repair. */
export interface RepairDialogue {
  /** Bytes that the new database may need, and free bytes. */
  space(neededBytes: number, freeBytes: number): void
  /** The checksum extension is missing for this system, so page checksums cannot be verified. */
  noChecksums(): void
  /** Description of the damage in the log of the old database. */
  logDamage(detail: string): void
  /** Pages of the old database with one wrong bit; the new database has their corrected content. */
  wrongBits(pages: readonly number[]): void
  /** The schema table was damaged and has been recreated. */
  schemaDamage(schema: RecreatedSchema): void
  table(recovered: RecoveredRows): void
  /** The new database at `path` is complete; resolves to true if it may replace the old one. */
  mayReplace(rebuilt: Rebuilt, path: string): Promise<boolean>
}

/** Result of a repair; `keptIn` is the folder with the old database, null if that is still in place. */
export interface Repaired {
  path: string
  keptIn: string | null
}

/**
 * Creates a new database from all readable data of the one in the folder and replaces it if `mayReplace` agrees. The
 * old files are not changed. Files that root creates get the ownership of the folder. Throws an `Error` with a readable
 * message if a gateway is running, the database is missing, there is not enough space, the schema table cannot be read,
 * or the new database fails its check.
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
    // lost sectors are skipped, but a missing disk must not be treated as an empty one
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
    const rebuilt = rebuildDatabase(old, repaired.tables, (recovered) => dialogue.table(recovered))
    const wrong = pagesWithWrongBit(checked)
    if (wrong.length > 0) dialogue.wrongBits(wrong)
    if (rebuilt.problems.length > 0)
      throw new Error(`the new database failed its check, so nothing was replaced: ${rebuilt.problems[0]}`)
    return rebuilt
  } finally {
    for (const one of open.reverse()) one.close()
  }
}

// works on a copy: checksums that cannot be used are recreated
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
        `the schema table cannot be read (${describeError(error)}), so the database cannot be recovered: ` +
          'restore a backup',
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
      `not enough space for a second database: it needs ${megabytes(neededBytes)} and ${megabytes(freeBytes)} ` +
        `are free in ${dataDir}; ${orElsewhere('free some')}`,
    )
}

function orElsewhere(cure: string): string {
  return `${cure}, or copy cartbarn.db* to a folder on another disk and repair it there with --data`
}

/** Adds the remedy to an error about a disk that cannot be written. */
function withWayOut(error: unknown, dataDir: string): unknown {
  const fault = error instanceof Error && error.cause !== undefined ? error.cause : error
  const code = fault instanceof Error && 'code' in fault ? String(fault.code) : ''
  const [problem, cure] = /^(SQLITE_FULL|ENOSPC|EDQUOT)/.test(code)
    ? ['the disk is full', 'free some space']
    : /^(SQLITE_READONLY|SQLITE_CANTOPEN|EROFS|EACCES|EPERM)/.test(code)
      ? ['the folder cannot be written', 'make it writable for this user']
      : /^(EIO|SQLITE_IOERR_CORRUPTFS)/.test(code)
        ? ['the disk does not return its data', 'see to its cable']
        : []
  if (problem === undefined || cure === undefined) return error
  const text = `${problem} (${dataDir}): nothing was replaced; ${orElsewhere(cure)}`
  return new Error(text, { cause: error })
}
