import { SqliteError } from 'better-sqlite3'
import { UnavailableError } from '#shared/errors.ts'

/** The file that was opened is no longer at its path: what is written to it would be gone with the process. */
export class DatabaseMovedError extends Error {
  readonly code = 'DATABASE_MOVED'
}

/**
 * The code of an error that is the store's state (full, read-only, I/O error, corrupt, locked) and not the fault of
 * what was asked; null for any other.
 */
export function storeFaultCode(error: unknown): string | null {
  if (error instanceof DatabaseMovedError) return error.code
  if (error instanceof UnavailableError) return storeFaultCode(error.cause)
  if (!(error instanceof SqliteError)) return null
  return /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE|ERROR)/.test(error.code) ? null : error.code
}

/** A fault for people: SQLite says "disk I/O error" of a dozen things, and the code tells them apart. */
export function describeFault(error: unknown): string {
  const cause = error instanceof UnavailableError ? error.cause : error
  const code = storeFaultCode(cause)
  const message = cause instanceof Error ? cause.message : String(cause)
  return code === null ? message : `${message} (${code})`
}
