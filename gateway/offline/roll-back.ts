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

/** An upgrade whose program does not run, seen by the program before it: this one. */
export interface FailedUpgrade {
  dataDir: string
  /** The version that does not run. */
  version: string
  /** What became of it, in words. */
  reason: string
  nowMs: number
}

/** What came of it: this program may have the folder again, or why not. */
export type RollbackResult = { isBack: true; tookDatabaseBack: boolean } | { isBack: false; why: string }

/** What the database is looked at in. */
const WORK = 'swap-back-unfinished'

/**
 * Gives a data folder back to this program after the one that followed it could not run. Where its database is of a
 * later schema, the copy from before the upgrade takes its place, as long as no device was let in: nothing that was
 * acknowledged is lost. Killed at any moment the folder is the one of before or that of after, whole, and the next call
 * goes on. Throws an `Error` in words when the folder is in use or the disk does not let it.
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
  if (record === null) return { why: `nothing in ${dataDir} says which program had it last` }
  const { program, openedAtMs, backup } = record
  // of this program, the other one ended before it could write its own
  const isOwn = program === programVersion()
  if (!isOwn && openedAtMs !== null)
    return { why: `${program} has let devices in since ${new Date(openedAtMs).toISOString()}, so it can run` }
  if (schemaOf(folder) <= knownSchema()) return { record, copy: null }
  // a copy that is kept since then lacks what came after it
  if (isOwn) return { why: 'the database is of a newer program, which has left no record of a copy' }
  const copy = backup === null ? null : join(dataDir, BACKUPS, backup.file)
  if (backup === null || copy === null || !existsSync(copy) || backup.schema > knownSchema())
    return { why: `${program} has changed the database, and there is no copy from before` }
  return { record, copy }
}

/** Of the database as it is with its log; above all others for one that cannot be read. Nothing of it is changed. */
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
