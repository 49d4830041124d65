import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { syncPath } from '#shared/files/durable.ts'

/** File in the data folder that records the program that uses it. */
export const PROGRAM_RECORD = 'program.json'

/** Program that uses a data folder, and how it came to use it. */
export interface ProgramRecord {
  /** Version of the last start here. */
  program: string
  /** Previous version; null if there was none, or it kept no record. */
  previous: string | null
  /** Time of the first start of `program` here. */
  sinceMs: number
  /** Copy of the database before its migrations, in `backups`; null without migrations, or if not requested. */
  backup: BackupBefore | null
  /** Time when devices were admitted; a later return to the backup would lose acknowledged messages. Null before. */
  openedAtMs: number | null
  /** Record of the return to this program, after its successor could not run. */
  swappedBack?: SwappedBack | undefined
}

/** Upgrade that failed and was undone. */
export interface SwappedBack {
  /** Version that could not run. */
  from: string
  /** Version that replaced it. */
  to: string
  atMs: number
  /** Reason why `from` failed, as a sentence. */
  reason: string
}

/** Backup and its source file: as long as that is unchanged, the backup is as good as a new one. */
export interface BackupBefore {
  file: string
  schema: number
  bytes: number
  modifiedAtMs: number
}

/** Reads the record of a folder; null if it does not exist, or cannot be read. */
export function readProgramRecord(dataDir: string): ProgramRecord | null {
  try {
    const content: unknown = JSON.parse(readFileSync(join(dataDir, PROGRAM_RECORD), 'utf8'))
    return isRecord(content) ? content : null
  } catch {
    return null
  }
}

/** Replaces the record; after a power cut, either the old or the new one is there. */
export function writeProgramRecord(dataDir: string, record: ProgramRecord): void {
  const path = join(dataDir, PROGRAM_RECORD)
  const next = `${path}-next`
  writeFileSync(next, `${JSON.stringify(record)}\n`, { mode: 0o600, flush: true })
  renameSync(next, path)
  syncPath(dataDir)
}

function isRecord(content: unknown): content is ProgramRecord {
  return (
    typeof content === 'object' &&
    content !== null &&
    'program' in content &&
    typeof content.program === 'string' &&
    'openedAtMs' in content
  )
}
