import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { toIso } from '#shared/time.ts'
import { chainFrame, FRAME_HEADER_BYTES, LOG_HEADER_BYTES, writeLogHeader } from '../pages/log-format.ts'
import { type LogFrame, type LogStart, type OpenLog, readFrames } from '../pages/log-scan.ts'

/** Copies of damaged logs that are kept: they may be the size of a log each, and hold personal data. */
const KEPT_COPIES = 3
const COPY_SUFFIX = '.damaged-'

/** Where a mended log is written before it takes the place of the damaged one. */
export function repairedPath(logPath: string): string {
  return `${logPath}.mended`
}

/** Keeps a copy beside the log and returns its name; the same log has the same copy. Of older ones the newest stay. */
export function keepCopy(logPath: string, writtenAtMs: number): string {
  const copy = `${logPath}${COPY_SUFFIX}${toIso(Math.round(writtenAtMs)).replaceAll(':', '')}`
  copyFileSync(logPath, copy, constants.COPYFILE_FICLONE)
  chmodSync(copy, 0o600)
  syncPath(copy)
  const folder = dirname(logPath)
  const prefix = basename(logPath) + COPY_SUFFIX
  const older = readdirSync(folder).filter((name) => name.startsWith(prefix) && name !== basename(copy))
  for (const name of older.sort().slice(0, 1 - KEPT_COPIES)) rmSync(join(folder, name))
  syncPath(folder)
  return basename(copy)
}

/** Puts a log of the whole frames among the first `usable` in the place of the damaged one. */
export function writeRepairedLog(
  logPath: string,
  { log, start, frames, usable }: { log: OpenLog; start: LogStart; frames: readonly LogFrame[]; usable: number },
): void {
  const file = openSync(repairedPath(logPath), 'w', 0o600)
  try {
    const header = Buffer.alloc(LOG_HEADER_BYTES)
    // a life of its own: an index of the old one must not be taken for it
    const salts = randomBytes(8).readBigUInt64BE()
    let sum = writeLogHeader(header, start.pageBytes, salts)
    writeSync(file, header)
    readFrames(log, start.pageBytes, (bytes, at, index) => {
      if (index >= usable || frames[index]?.isWhole !== true) return
      const frame = bytes.subarray(at, at + FRAME_HEADER_BYTES + start.pageBytes)
      sum = chainFrame(frame, sum, salts)
      writeSync(file, frame)
    })
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(repairedPath(logPath), logPath)
  rmSync(logPath.replace(/-wal$/, '-shm'), { force: true })
  syncPath(dirname(logPath))
}

/** Removes a log that is in the database. */
export function removeLog(databasePath: string): void {
  syncPath(databasePath)
  rmSync(`${databasePath}-wal`)
  rmSync(`${databasePath}-shm`, { force: true })
  syncPath(dirname(databasePath))
}

interface Copied {
  databasePath: string
  frames: readonly LogFrame[]
  pageBytes: number
  /** Of the database; frames may bring more that it does not have any more. */
  pages: number
  pageOf(frame: LogFrame, index: number): number
  end: number
}

/** Whether the database has the newest page of each that the whole frames among the first `end` bring. */
export function isInDatabase(log: OpenLog, options: Copied): boolean {
  const { databasePath, frames, pageOf, pages, pageBytes, end } = options
  const newest = new Map<number, number>()
  frames.slice(0, end).forEach((frame, i) => {
    // what a damaged one brought cannot be compared
    if (!frame.isWhole) newest.delete(pageOf(frame, i))
    else if (frame.page <= pages) newest.set(frame.page, i)
  })
  if (newest.size === 0) return false
  const database = openSync(databasePath, 'r')
  const stored = Buffer.alloc(pageBytes)
  let isSame = true
  try {
    readFrames(log, pageBytes, (bytes, at, index) => {
      const page = frames[index]?.page ?? 0
      if (!isSame || newest.get(page) !== index) return
      const from = at + FRAME_HEADER_BYTES
      isSame =
        canRead(database, stored, (page - 1) * pageBytes) && stored.equals(bytes.subarray(from, from + pageBytes))
    })
  } finally {
    closeSync(database)
  }
  return isSame
}

function canRead(file: number, page: Buffer, at: number): boolean {
  try {
    return readSync(file, page, 0, page.length, at) === page.length
  } catch {
    // a sector that is lost
    return false
  }
}

/** Makes a file, or the names in a folder, safe against a power cut. */
function syncPath(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
