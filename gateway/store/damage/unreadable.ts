import { SqliteError } from 'better-sqlite3'
import { isDamage } from '../db/fault.ts'

/**
 * Whether a read failed for what is on the disk, or for a sector that the disk does not return (EIO). Who takes that
 * for lost asks `requireReadableDisk` before.
 */
export function isUnreadable(error: unknown): boolean {
  if (!(error instanceof SqliteError)) return false
  // a damaged row may claim to be larger than memory; EIO is CORRUPT in most statements
  return isDamage(error.code) || /^SQLITE_(NOMEM|TOOBIG|IOERR_CORRUPTFS)/.test(error.code)
}
