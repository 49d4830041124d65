import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { syncPath } from '#shared/files/durable.ts'

/** The file in the data folder that says which program has it. */
export const PROGRAM_RECORD = 'program.json'

/** Which program has a data folder, and how it came to it. */
export interface ProgramRecord {
  /** The version that started here last. */
  program: string
  /** The one before it; null when there was none, or it kept no record. */
  previous: string | null
  /** Since when `program` has it. */
  sinceMs: number
  /** The database from before its migrations, in `backups`; null when there were none, or nobody wanted one. */
  backup: BackupBefore | null
  /** When it opened its doors to devices: from then on going back to the backup would lose what they were promised. */
  openedAtMs: number | null
  /** How the folder came back to a program after the one that followed it could not run. */
  swappedBack?: SwappedBack | undefined
}

/** An upgrade that failed and was undone. */
export interface SwappedBack {
  /** The version that could not run. */
  from: string
  /** The one that was put in its place. */
  to: string
  atMs: number
  /** What became of `from`, in words. */
  reason: string
}

/** A backup, and the file it was made of: as long as that is the same, the backup is as good as a new one. */
export interface BackupBefore {
  file: string
  schema: number
  bytes: number
  modifiedAtMs: number
}

/** What the folder says; null without a record, or with one that cannot be read. */
export function readProgramRecord(dataDir: string): ProgramRecord | null {
  try {
    const content: unknown = JSON.parse(readFileSync(join(dataDir, PROGRAM_RECORD), 'utf8'))
    return isRecord(content) ? content : null
  } catch {
    return null
  }
}

/** Puts a record in the place of the last: after a power cut it is the one or the other. */
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
