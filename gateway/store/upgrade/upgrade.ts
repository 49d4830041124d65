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

/** Progress of an upgrade: its backup, which is always reported, or one of its migrations. */
export type UpgradeProgress = { kind: 'backup' } | ({ kind: 'migration' } & MigrationStep)

/** Called for each step; the upgrade waits until the first call has resolved. */
export type OnUpgrade = (progress: UpgradeProgress) => void | Promise<void>

/** Database to upgrade to the schema of this program. */
export interface DatabaseToUpgrade {
  dataDir: string
  path: string
  schema: number
  /** Version of the program that created the current schema; null if unknown. */
  schemaWriter: string | null
  /** True if a copy of the old database is kept. */
  isBackedUp: boolean
}

/**
 * Upgrades an older database to the schema of this program, in a thread of its own. Makes a backup first, and records
 * the program before anything changes. After a kill at any moment, the database is the old or the new one.
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
  // made by a start that failed or was killed
  const isMade = known?.schema === older.schema && isCurrent(dataDir, known, path)
  await onProgress({ kind: 'backup' })
  const request = { dataDir, path, schema: older.schema, atMs: systemClock.nowMs() }
  const backup = !older.isBackedUp ? null : isMade ? known : await run({ kind: 'backup', request })
  const own = last?.program === programVersion() ? last : newRecord(last, older.schemaWriter)
  writeProgramRecord(dataDir, { ...own, backup, openedAtMs: null })
  await run({ kind: 'migrate', path })
}

/**
 * Records that this program uses the folder now, if another one used it before; for a database that needs no upgrade. A
 * disk that accepts no writes does not prevent the start: only an automatic rollback is impossible then.
 */
export function noteProgram(dataDir: string): void {
  const last = readProgramRecord(dataDir)
  if (last?.program === programVersion()) return
  try {
    writeProgramRecord(dataDir, newRecord(last, null))
  } catch {
    // the old record has the opening time of its program
  }
}

/** True if devices were admitted since this program uses the folder, or if that is unknown. */
export function isOpened(dataDir: string): boolean {
  const record = readProgramRecord(dataDir)
  return record === null || record.openedAtMs !== null
}

/** Records that devices are admitted. Throws if the record cannot be written. */
export function recordMqttOpened(dataDir: string): void {
  const record = readProgramRecord(dataDir)
  if (record === null) return
  const openedAtMs = systemClock.nowMs()
  writeProgramRecord(dataDir, { ...record, swappedBack: swappedBackIn(record), openedAtMs })
}

/** Returns how this program came to use the folder again after its successor failed; undefined if it did not. */
export function findSwappedBack(dataDir: string): SwappedBack | undefined {
  return swappedBackIn(readProgramRecord(dataDir))
}

/** Returns the rollback to this program; a record of a rollback to another program does not count. */
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

/** Resolves with the backup, if the job makes one. Rejects with the error of the thread. */
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
    // only after the exit does no connection have the database open
    worker.on('exit', () => reject(new Error('the upgrade was stopped; the database is unchanged')))
  })
}

function errorOf({ message, faultCode }: Extract<UpgradeAnswer, { kind: 'failed' }>): Error {
  return faultCode === null ? new Error(message) : new SqliteError(message, faultCode)
}
