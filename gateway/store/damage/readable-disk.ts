import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { DiskUnreadableError } from '../db/fault.ts'

/** Places of the file that are read, spread over all of it. */
const PLACES = 16
/** So many of them may be on sectors that are lost for good, of which the disk returns nothing either. */
const MAX_LOST = 4
const PLACE_BYTES = 4096

/**
 * Throws `DiskUnreadableError` when the disk does not return what is asked of it. SQLite says "malformed" of what it
 * could not read for that, and what a loose cable hides must not be taken for lost.
 */
export function requireReadableDisk(path: string): void {
  try {
    const file = openSync(path, 'r')
    try {
      requirePlaces(file)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    throw new DiskUnreadableError('the disk does not return what is on it', { cause: error })
  }
}

function requirePlaces(file: number): void {
  const pages = Math.ceil(fstatSync(file).size / PLACE_BYTES)
  let lost = 0
  for (let i = 0; i < PLACES; i++) {
    const at = Math.floor((pages * i) / PLACES) * PLACE_BYTES
    try {
      readSync(file, Buffer.alloc(PLACE_BYTES), 0, PLACE_BYTES, at)
    } catch (error) {
      lost++
      if (lost > MAX_LOST) throw error
    }
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
