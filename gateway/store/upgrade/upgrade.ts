import { SqliteError } from 'better-sqlite3'
import { startThread } from '#shared/thread.ts'
import { systemClock } from '#shared/time.ts'
import { programVersion } from '#shared/version.ts'
import type { MigrationStep } from '../migrate.ts'
import { isCurrent } from './backup-before.ts'
import type { UpgradeAnswer, UpgradeJob } from './messages.ts'
import {
  type BackupBefore,
  type ProgramRecord,
  readProgramRecord,
  type SwappedBack,
  writeProgramRecord,
} from './program-record.ts'

/** How far an upgrade is: its backup, which is told of in any case, or one of its migrations. */
export type UpgradeProgress = { kind: 'backup' } | ({ kind: 'migration' } & MigrationStep)

/** Is told of each step; the work begins when it has heard of the first. */
export type OnUpgrade = (progress: UpgradeProgress) => void | Promise<void>

/** A database that is to be brought to the schema of this program. */
export interface DatabaseToUpgrade {
  dataDir: string
  path: string
  schema: number
  /** The version of the program that brought it to its schema; null when it does not say. */
  schemaWriter: string | null
  /** Whether a copy is kept of what it was. */
  isBackedUp: boolean
}

/**
 * Brings an older database to the schema of this program, in a thread of its own: a backup first, and who does what is
 * noted before anything changes. Killed at any moment the database is the old or the new one.
 */
export async function upgradeDatabase(
  older: DatabaseToUpgrade,
  onProgress: OnUpgrade,
  stopping: AbortSignal,
): Promise<void> {
  const { dataDir, path } = older
  const last = readProgramRecord(dataDir)
  const run = (work: UpgradeJob) => perform(work, onProgress, stopping)
  const known = last?.backup ?? null
  // a start that failed or was killed has made it already
  const isMade = known?.schema === older.schema && isCurrent(dataDir, known, path)
  await onProgress({ kind: 'backup' })
  const request = { dataDir, path, schema: older.schema, atMs: systemClock.nowMs() }
  const backup = !older.isBackedUp ? null : isMade ? known : await run({ kind: 'backup', request })
  const own = last?.program === programVersion() ? last : newRecord(last, older.schemaWriter)
  writeProgramRecord(dataDir, { ...own, backup, openedAtMs: null })
  await run({ kind: 'migrate', path })
}

/**
 * Notes that this program has the folder now, where another one had it before; for a database of its own schema. A disk
 * that takes nothing keeps no gateway from starting: then going back by itself is not possible.
 */
export function noteProgram(dataDir: string): void {
  const last = readProgramRecord(dataDir)
  if (last?.program === programVersion()) return
  try {
    writeProgramRecord(dataDir, newRecord(last, null))
  } catch {
    // the record of before says that its program was opened
  }
}

/** Whether devices were let in since this program has the folder, or nothing says that they were not. */
export function isOpened(dataDir: string): boolean {
  const record = readProgramRecord(dataDir)
  return record === null || record.openedAtMs !== null
}

/** Notes that devices are let in. Throws when it cannot. */
export function recordMqttOpened(dataDir: string): void {
  const record = readProgramRecord(dataDir)
  if (record === null) return
  const openedAtMs = systemClock.nowMs()
  writeProgramRecord(dataDir, { ...record, swappedBack: swappedBackIn(record), openedAtMs })
}

/** How this program came to have the folder again, if it did not stay the last one; undefined else. */
export function findSwappedBack(dataDir: string): SwappedBack | undefined {
  return swappedBackIn(readProgramRecord(dataDir))
}

/** What was noted when another program was put in place is nothing to this one. */
function swappedBackIn(record: ProgramRecord | null): SwappedBack | undefined {
  return record?.swappedBack?.to === programVersion() ? record.swappedBack : undefined
}

function newRecord(last: ProgramRecord | null, schemaWriter: string | null): ProgramRecord {
  return {
    program: programVersion(),
    previous: last?.program ?? schemaWriter,
    sinceMs: systemClock.nowMs(),
    backup: null,
    openedAtMs: null,
    swappedBack: swappedBackIn(last),
  }
}

/** Resolves with the backup, if it is one. Rejects with what the thread met. */
function perform(work: UpgradeJob, onProgress: OnUpgrade, stopping: AbortSignal): Promise<BackupBefore | null> {
  stopping.throwIfAborted()
  return new Promise((resolve, reject) => {
    const worker = startThread('upgrade', { workerData: work })
    worker.on('message', (answer: UpgradeAnswer) => {
      if (answer.kind === 'step') void onProgress({ kind: 'migration', ...answer.step })
      else if (answer.kind === 'failed') reject(errorOf(answer))
      else resolve(answer.kind === 'backed_up' ? answer.backup : null)
    })
    worker.on('error', reject)
    stopping.addEventListener('abort', () => void worker.terminate(), { once: true })
    // only then has nobody the database open
    worker.on('exit', () => reject(new Error('the upgrade was stopped; the database is as it was')))
  })
}

function errorOf({ message, faultCode }: Extract<UpgradeAnswer, { kind: 'failed' }>): Error {
  return faultCode === null ? new Error(message) : new SqliteError(message, faultCode)
}
