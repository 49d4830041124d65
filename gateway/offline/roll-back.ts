import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { programVersion } from '#shared/version.ts'
import { openReader } from '#store/db/connection.ts'
import { databasePath } from '#store/db/files.ts'
import { knownSchema } from '#store/migrate.ts'
import { linkOld } from '#store/replace/old-database.ts'
import { replaceDatabase } from '#store/replace/replace-database.ts'
import { BACKUPS } from '#store/upgrade/backup-before.ts'
import { type ProgramRecord, readProgramRecord, writeProgramRecord } from '#store/upgrade/program-record.ts'
import { StoppedFolder } from './stopped-folder.ts'

/** Failed upgrade as seen by the previous program, which is this one. */
export interface FailedUpgrade {
  dataDir: string
  /** Version that does not run. */
  version: string
  reason: string
  nowMs: number
}

/** Result: this program may use the folder again, or the reason why not. */
export type RollbackResult = { isBack: true; tookDatabaseBack: boolean } | { isBack: false; why: string }

/** Work folder in which the database is read. */
const WORK = 'swap-back-unfinished'

/**
 * Gives a data folder back to this program after its successor could not run. If the database has a later schema, the
 * copy from before the upgrade replaces it, provided that no device was admitted: no acknowledged data is lost. If it
 * is killed at any moment, the folder is entirely in the old or the new state, and the next call continues. Throws an
 * `Error` with a readable message if the folder is in use or the disk cannot be written.
 */
export function swapDataBack(upgrade: FailedUpgrade): RollbackResult {
  const { dataDir, version, reason, nowMs } = upgrade
  const folder = new StoppedFolder(dataDir, WORK)
  folder.take()
  try {
    const plan = planFor(folder)
    if ('why' in plan) return { isBack: false, why: plan.why }
    const { copy, record } = plan
    if (copy !== null) replaceDatabase(dataDir, copy, null)
    const swappedBack = { from: version, to: programVersion(), atMs: nowMs, reason }
    writeProgramRecord(dataDir, { ...record, backup: copy === null ? record.backup : null, swappedBack })
    return { isBack: true, tookDatabaseBack: copy !== null }
  } finally {
    folder.release()
  }
}

type Plan = { record: ProgramRecord; copy: string | null } | { why: string }

function planFor(folder: StoppedFolder): Plan {
  const { dataDir } = folder
  const record = readProgramRecord(dataDir)
  if (record === null) return { why: `${dataDir} has no record of the program that used it last` }
  const { program, openedAtMs, backup } = record
  // with the record of this program, the other one ended before it could write its own
  const isOwn = program === programVersion()
  if (!isOwn && openedAtMs !== null)
    return { why: `${program} has admitted devices since ${new Date(openedAtMs).toISOString()}, so it can run` }
  if (schemaOf(folder) <= knownSchema()) return { record, copy: null }
  // an older copy lacks the data that came after it
  if (isOwn) return { why: 'the database is of a newer program, which left no record of a copy' }
  const copy = backup === null ? null : join(dataDir, BACKUPS, backup.file)
  if (backup === null || copy === null || !existsSync(copy) || backup.schema > knownSchema())
    return { why: `${program} has changed the database, and there is no copy from before` }
  return { record, copy }
}

/** Reads the schema version of the database with its log, changing neither; infinite for an unreadable one. */
function schemaOf(folder: StoppedFolder): number {
  const { dataDir, work } = folder
  if (!existsSync(databasePath(dataDir))) return 0
  folder.makeWork()
  try {
    const connection = openReader(linkOld(dataDir, work))
    try {
      return Number(connection.db.pragma('user_version', { simple: true }))
    } finally {
      connection.close()
    }
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
