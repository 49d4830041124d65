import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import type { Connection } from './connection.ts'
import { DiskUnreadableError, isBroken, isDamage, storeFaultCode } from './fault.ts'

/** Number of positions to read, spread over the file. */
const PLACES = 16
/** Number of positions that may be on permanently lost sectors, which the disk does not return either. */
const MAX_LOST = 4
const PLACE_BYTES = 4096

/** Throws `DiskUnreadableError` if the disk returns no data: SQLite calls it malformed; a loose cable loses none. */
export function requireReadableDisk(path: string): void {
  try {
    const file = openSync(path, 'r')
    try {
      requirePlaces(file)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    throw new DiskUnreadableError('the disk does not return its data', { cause: error })
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

/** Error of a disk that returns no data; null if it returns them. */
export function diskFault(path: string): DiskUnreadableError | null {
  try {
    requireReadableDisk(path)
    return null
  } catch (error) {
    if (error instanceof DiskUnreadableError) return error
    throw error
  }
}

/**
 * The error of a read, or that of a disk which returns no data, as SQLite reports both as a malformed database. Call it
 * in the thread that met the error, immediately: a moment later the disk may be back.
 */
export function faultOrUnreadableDisk(error: unknown, path: string): unknown {
  return (isDamage(storeFaultCode(error)) ? diskFault(path) : null) ?? error
}

/**
 * Returns if an error of a read is damage that SQLite detected. Throws it otherwise, and `DiskUnreadableError` if the
 * disk returns no data: intact data would be treated as lost.
 */
export function requireBroken(error: unknown, { db }: Connection): void {
  if (!isBroken(storeFaultCode(error))) throw error
  requireReadableDisk(db.name)
}
