import { randomBytes } from 'node:crypto'
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs'
import {
  chainFrame,
  FRAME_HEADER_BYTES,
  LOG_HEADER_BYTES,
  type LogSum,
  parseFrameHeader,
  parseLogHeader,
  type Salts,
  writeLogHeader,
} from '../pages/log-format.ts'
import { scanLog } from '../pages/log-scan.ts'

/** Part of a log that SQLite accepts: up to the end of the last transaction without a wrong frame before it. */
export interface CommittedLog {
  readonly pageBytes: number
  /** Number of pages of the database after the last transaction. */
  readonly pageCount: number
  /** Offset in the log of the newest content of each page. */
  readonly contentAt: ReadonlyMap<number, number>
  /** Offset of the next frame; the following fields are what it continues. */
  readonly endAt: number
  readonly salts: Salts
  readonly sum: LogSum
}

/** Reads the committed part of a log; null if there is no log or no committed transaction. */
export function readCommitted(file: number): CommittedLog | null {
  const bytes = fstatSync(file).size
  const head = Buffer.alloc(LOG_HEADER_BYTES)
  if (readSync(file, head, 0, LOG_HEADER_BYTES, 0) < LOG_HEADER_BYTES) return null
  const { pageBytes, salts, storedSum, isWhole } = parseLogHeader(head)
  if (!isWhole) return null
  const start = { pageBytes, salts, sums: [storedSum], isWhole, maxPages: Number.MAX_SAFE_INTEGER }
  const frames = scanLog({ file, bytes }, start)
  const last = frames.findLastIndex(({ isChained, commitPages }) => isChained && commitPages > 0)
  const end = frames[last]
  if (end === undefined) return null
  const frameBytes = FRAME_HEADER_BYTES + pageBytes
  const contentAt = new Map<number, number>()
  for (let i = 0; i <= last; i++)
    contentAt.set(frames[i]?.page ?? 0, LOG_HEADER_BYTES + i * frameBytes + FRAME_HEADER_BYTES)
  const lastAt = LOG_HEADER_BYTES + last * frameBytes
  const header = Buffer.alloc(FRAME_HEADER_BYTES)
  readSync(file, header, 0, FRAME_HEADER_BYTES, lastAt)
  const sum = parseFrameHeader(header, 0).storedSum
  return { pageBytes, pageCount: end.commitPages, contentAt, endAt: lastAt + frameBytes, salts, sum }
}

/** Appends a transaction to the log, created if necessary; `pageCount` is the size of the database afterwards. */
export function appendTransaction(
  logPath: string,
  pages: ReadonlyMap<number, Buffer>,
  pageCount: number,
  pageBytes: number,
): void {
  const file = openSync(logPath, 'a+', 0o600)
  try {
    const committed = readCommitted(file)
    ftruncateSync(file, committed?.endAt ?? 0)
    let { salts, sum } = committed ?? beginLog(file, pageBytes)
    let left = pages.size
    for (const [page, content] of pages) {
      const frame = Buffer.alloc(FRAME_HEADER_BYTES + pageBytes)
      frame.writeUInt32BE(page, 0)
      frame.writeUInt32BE(--left === 0 ? pageCount : 0, 4)
      content.copy(frame, FRAME_HEADER_BYTES)
      sum = chainFrame(frame, sum, salts)
      writeSync(file, frame)
    }
  } finally {
    closeSync(file)
  }
}

function beginLog(file: number, pageBytes: number): { salts: Salts; sum: LogSum } {
  const header = Buffer.alloc(LOG_HEADER_BYTES)
  const salts = randomBytes(8).readBigUInt64BE()
  const sum = writeLogHeader(header, pageBytes, salts)
  writeSync(file, header)
  return { salts, sum }
}
