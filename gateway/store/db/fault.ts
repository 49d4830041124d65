import { SqliteError } from 'better-sqlite3'
import { UnavailableError } from '#shared/errors.ts'

/** The opened file is no longer at its path: further writes would be lost when the process ends. */
export class DatabaseMovedError extends Error {
  readonly code = 'DATABASE_MOVED'
}

/** The disk cannot be read, so nothing is known about the state of the data on it. */
export class DiskUnreadableError extends Error {
  readonly code = 'DISK_UNREADABLE'
}

/** Code of an error of the store (full, read-only, I/O error, corrupt, locked), not of the request; null otherwise. */
export function storeFaultCode(error: unknown): string | null {
  if (error instanceof DatabaseMovedError || error instanceof DiskUnreadableError) return error.code
  if (error instanceof UnavailableError) return storeFaultCode(error.cause)
  if (!(error instanceof SqliteError)) return null
  return /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE|ERROR)/.test(error.code) ? null : error.code
}

/**
 * True if a fault of this code is damage: the disk returned something else than was written. Other requests continue,
 * unlike after a fault of the whole store (full, read-only, I/O error). EIO (SQLITE_IOERR_CORRUPTFS) does not count: a
 * loose cable gives it too, and unreadable data must not be taken for lost.
 */
export function isDamage(faultCode: string | null): boolean {
  return faultCode !== null && /^SQLITE_(CORRUPT|NOTADB|IOERR_(DATA|SHORT_READ)$)/.test(faultCode)
}

/** True if a read met a page with a wrong checksum, see `store/pages/page-sums`. */
export function isWrongSum(faultCode: string | null): boolean {
  return faultCode === 'SQLITE_IOERR_DATA'
}

/** True for damage that SQLite itself detected, regardless of page checksums. */
export function isBroken(faultCode: string | null): boolean {
  return isDamage(faultCode) && !isWrongSum(faultCode)
}

/** Fault text for people. SQLite reports "disk I/O error" for a dozen conditions; the code distinguishes them. */
export function describeFault(error: unknown): string {
  const cause = error instanceof UnavailableError ? error.cause : error
  const code = storeFaultCode(cause)
  const message = cause instanceof Error ? cause.message : String(cause)
  return code === null ? message : `${message} (${code})`
}
