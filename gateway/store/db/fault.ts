import { SqliteError } from 'better-sqlite3'
import { UnavailableError } from '#shared/errors.ts'

/** The file that was opened is no longer at its path: what is written to it would be gone with the process. */
export class DatabaseMovedError extends Error {
  readonly code = 'DATABASE_MOVED'
}

/** The disk does not return what is on it: nothing can be said of what it holds. */
export class DiskUnreadableError extends Error {
  readonly code = 'DISK_UNREADABLE'
}

/**
 * The code of an error that is the store's state (full, read-only, I/O error, corrupt, locked) and not the fault of
 * what was asked; null for any other.
 */
export function storeFaultCode(error: unknown): string | null {
  if (error instanceof DatabaseMovedError || error instanceof DiskUnreadableError) return error.code
  if (error instanceof UnavailableError) return storeFaultCode(error.cause)
  if (!(error instanceof SqliteError)) return null
  return /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE|ERROR)/.test(error.code) ? null : error.code
}

/**
 * Whether a fault of this code is damage: the disk returned something else than was written to it. Other work goes on,
 * unlike after a fault of the whole store (full, read-only, I/O error). What the disk does not return at all (EIO,
 * which is SQLITE_IOERR_CORRUPTFS) is none: a cable that is loose gives the same, and what could not be read then must
 * not be taken for lost.
 */
export function isDamage(faultCode: string | null): boolean {
  return faultCode !== null && /^SQLITE_(CORRUPT|NOTADB|IOERR_(DATA|SHORT_READ)$)/.test(faultCode)
}

/** Whether a read met a page with a wrong checksum, see `store/pages/page-sums`. */
export function isWrongSum(faultCode: string | null): boolean {
  return faultCode === 'SQLITE_IOERR_DATA'
}

/** Damage that SQLite itself came upon, whatever the checksums of pages say. */
export function isBroken(faultCode: string | null): boolean {
  return isDamage(faultCode) && !isWrongSum(faultCode)
}

/** A fault for people: SQLite says "disk I/O error" of a dozen things, and the code tells them apart. */
export function describeFault(error: unknown): string {
  const cause = error instanceof UnavailableError ? error.cause : error
  const code = storeFaultCode(cause)
  const message = cause instanceof Error ? cause.message : String(cause)
  return code === null ? message : `${message} (${code})`
}
