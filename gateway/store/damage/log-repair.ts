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

/** Number of copies of damaged logs to keep. Each may be as large as a log, and contains personal data. */
const KEPT_COPIES = 3
const COPY_SUFFIX = '.damaged-'

/** Returns the path of a repaired log before it replaces the damaged one. */
export function repairedPath(logPath: string): string {
  return `${logPath}.mended`
}

/** Writes a copy next to the log and returns its name, which depends on the log. Deletes all but the newest copies. */
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

/** Replaces the damaged log with one that has the whole frames among the first `usable`. */
export function writeRepairedLog(
  logPath: string,
  { log, start, frames, usable }: { log: OpenLog; start: LogStart; frames: readonly LogFrame[]; usable: number },
): void {
  const file = openSync(repairedPath(logPath), 'w', 0o600)
  try {
    const header = Buffer.alloc(LOG_HEADER_BYTES)
    // new salts, so that an index of the damaged log is not mistaken for an index of this one
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

/** Removes a log whose content is in the database. */
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
  /** Number of pages of the database; frames may have pages beyond it that the database no longer has. */
  pages: number
  pageOf(frame: LogFrame, index: number): number
  end: number
}

/** True if the database has the newest version of each page in the whole frames among the first `end`. */
export function isInDatabase(log: OpenLog, options: Copied): boolean {
  const { databasePath, frames, pageOf, pages, pageBytes, end } = options
  const newest = new Map<number, number>()
  frames.slice(0, end).forEach((frame, i) => {
    // the content of a damaged frame cannot be compared
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
    // unreadable sector
    return false
  }
}

/** Flushes a file, or the names in a folder, to the disk. */
function syncPath(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
