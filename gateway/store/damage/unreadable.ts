import { SqliteError } from 'better-sqlite3'
import { isDamage } from '../db/fault.ts'

/** Whether a read failed for what is on the disk. A disk that returns nothing (EIO) may do so again later: that is none. */
export function isUnreadable(error: unknown): boolean {
  if (!(error instanceof SqliteError)) return false
  // a damaged row may claim to be larger than memory
  return isDamage(error.code) || /^SQLITE_(NOMEM|TOOBIG)/.test(error.code)
}
