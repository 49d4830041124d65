import { SqliteError } from 'better-sqlite3'
import { isDamage } from '../db/fault.ts'

/**
 * True if a read failed because of the content of the disk, or a sector that the disk does not return (EIO). Before
 * treating the data as lost, call `requireReadableDisk`.
 */
export function isUnreadable(error: unknown): boolean {
  if (!(error instanceof SqliteError)) return false
  // a damaged row may claim to be larger than memory; EIO is CORRUPT in most statements
  return isDamage(error.code) || /^SQLITE_(NOMEM|TOOBIG|IOERR_CORRUPTFS)/.test(error.code)
}
