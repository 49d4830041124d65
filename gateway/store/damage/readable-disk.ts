import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { DiskUnreadableError } from '../db/fault.ts'

/** Places of the file that are read, spread over all of it. */
const PLACES = 16
const PLACE_BYTES = 4096

/**
 * Throws `DiskUnreadableError` when the disk does not return what is asked of it. SQLite says "malformed" of a schema that
 * it could not read for that, and what a loose cable hides must not be taken for lost.
 */
export function requireReadableDisk(path: string): void {
  try {
    const file = openSync(path, 'r')
    try {
      const { size } = fstatSync(file)
      const bytes = Buffer.alloc(PLACE_BYTES)
      for (let i = 0; i < PLACES; i++) readSync(file, bytes, 0, PLACE_BYTES, Math.floor((size * i) / PLACES))
    } finally {
      closeSync(file)
    }
  } catch (error) {
    throw new DiskUnreadableError('the disk does not return what is on it', { cause: error })
  }
}

/** The same as a question. */
export function isDiskReadable(path: string): boolean {
  try {
    requireReadableDisk(path)
    return true
  } catch {
    return false
  }
}
