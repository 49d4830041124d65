import { SqliteError } from 'better-sqlite3'
import { isDamage } from '../db/fault.ts'

/** True if a read failed for its content or an unreadable sector (EIO). Call `requireReadableDisk` before giving up. */
export function isUnreadable(error: unknown): boolean {
  if (!(error instanceof SqliteError)) return false
  // a damaged row may claim to be larger than memory; EIO is CORRUPT in most statements
  return isDamage(error.code) || /^SQLITE_(NOMEM|TOOBIG|IOERR_CORRUPTFS)/.test(error.code)
}
