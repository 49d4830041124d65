import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { programVersion } from '#shared/version.ts'
import { openReader } from '#store/db/connection.ts'
import { DataLock } from '#store/db/data-lock.ts'
import { databasePath } from '#store/db/files.ts'
import { knownSchema } from '#store/migrate.ts'
import { copyLog, finishReplacement, linkOrCopy, replaceDatabase } from '#store/replace/replace-database.ts'
import { BACKUPS } from '#store/upgrade/backup-before.ts'
import { type ProgramRecord, readProgramRecord, writeProgramRecord } from '#store/upgrade/program-record.ts'

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
export type BackOnFolder = { isBack: true; tookDatabaseBack: boolean } | { isBack: false; why: string }

/** What the database is looked at in. */
const WORK = 'swap-back-unfinished'

/**
 * Gives a data folder back to this program after the one that followed it could not run. Where its database is of a later
 * schema, the copy from before the upgrade takes its place, as long as no device was let in: nothing that was
 * acknowledged is lost. Killed at any moment the folder is the one of before or that of after, whole, and the next call goes
 * on. Throws an `Error` in words when the folder is in use or the disk does not let it.
 */
export function swapDataBack(upgrade: FailedUpgrade): BackOnFolder {
  const { dataDir } = upgrade
  const lock = new DataLock(dataDir)
  lock.take()
  try {
    finishReplacement(dataDir)
    return swapLocked(upgrade)
  } finally {
    lock.release()
  }
}

function swapLocked({ dataDir, version, reason, nowMs }: FailedUpgrade): BackOnFolder {
  const record = readProgramRecord(dataDir)
  const plan = planFor(dataDir, record)
  if ('why' in plan) return { isBack: false, why: plan.why }
  const { copy } = plan
  if (copy !== null) replaceDatabase(dataDir, copy, null)
  const swappedBack = { from: version, to: programVersion(), atMs: nowMs, reason }
  const backup = copy === null ? plan.record.backup : null
  writeProgramRecord(dataDir, { ...plan.record, backup, swappedBack })
  return { isBack: true, tookDatabaseBack: copy !== null }
}

type Plan = { record: ProgramRecord; copy: string | null } | { why: string }

function planFor(dataDir: string, record: ProgramRecord | null): Plan {
  if (record === null) return { why: `nothing in ${dataDir} says which program had it last` }
  const { program, openedAtMs, backup } = record
  // of this program, the other one ended before it could write its own
  const isOwn = program === programVersion()
  if (!isOwn && openedAtMs !== null)
    return { why: `${program} has let devices in since ${new Date(openedAtMs).toISOString()}, so it can run` }
  if (schemaOf(dataDir) <= knownSchema()) return { record, copy: null }
  // a copy that is kept since then lacks what came after it
  if (isOwn) return { why: 'the database is of a newer program, which has left no record of a copy' }
  const copy = backup === null ? null : join(dataDir, BACKUPS, backup.file)
  if (backup === null || copy === null || !existsSync(copy) || backup.schema > knownSchema())
    return { why: `${program} has changed the database, and there is no copy from before` }
  return { record, copy }
}

/** Of the database as it is with its log; above all others for one that cannot be read. Nothing of it is changed. */
function schemaOf(dataDir: string): number {
  const work = join(dataDir, WORK)
  rmSync(work, { recursive: true, force: true })
  if (!existsSync(databasePath(dataDir))) return 0
  mkdirSync(work, { mode: 0o700 })
  try {
    const path = databasePath(work)
    linkOrCopy(databasePath(dataDir), path)
    copyLog(dataDir, path)
    const connection = openReader(path)
    try {
      return Number(connection.db.pragma('user_version', { simple: true }))
    } finally {
      connection.close()
    }
  } catch {
    return Number.POSITIVE_INFINITY
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
