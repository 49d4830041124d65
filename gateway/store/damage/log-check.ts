import { closeSync, fstatSync, openSync, readFileSync, readSync, rmSync, statSync } from 'node:fs'
import { describeError } from '#shared/errors.ts'
import { toIso } from '#shared/time.ts'
import { typedCommand } from '#shared/typed-command.ts'
import {
  FRAME_HEADER_BYTES,
  isPageSize,
  isSameSum,
  LOG_HEADER_BYTES,
  type LogHeader,
  type LogIndex,
  parseFrameHeader,
  parseLogHeader,
  parseLogIndex,
} from '../pages/log-format.ts'
import { type LogFrame, type LogStart, type OpenLog, scanLog } from '../pages/log-scan.ts'
import type { DamageFinding } from './findings.ts'
import { isInDatabase, keepCopy, removeLog, repairedPath, writeRepairedLog } from './log-repair.ts'

const DEFAULT_PAGE_BYTES = 4096

/**
 * Looks at the write-ahead log before SQLite opens the database, which would end it at the first damaged frame without
 * a word and overwrite what follows. Returns what was found, or null: a last transaction that was torn by a power cut
 * was told to nobody, and is no damage. A damaged log is kept beside; where all that was acknowledged can be had in
 * spite of it, the log is mended. No process may have the database open. Throws an `Error` in words when it cannot be
 * read, or the copy not be written.
 */
export function checkLog(databasePath: string, foundAtMs: number): DamageFinding | null {
  const path = `${databasePath}-wal`
  try {
    // what a mending left that was cut off
    rmSync(repairedPath(path), { force: true })
    const database = statSync(databasePath, { throwIfNoEntry: false })
    const log = statSync(path, { throwIfNoEntry: false })
    if (database === undefined || log === undefined || log.size <= LOG_HEADER_BYTES) return null
    const file = openSync(path, 'r')
    try {
      const judged = judge({ file, bytes: fstatSync(file).size }, databasePath)
      return judged === null ? null : settle(judged, { databasePath, foundAtMs, writtenAtMs: log.mtimeMs })
    } finally {
      closeSync(file)
    }
  } catch (error) {
    throw new Error(`the write-ahead log ${path} cannot be checked: ${describeError(error)}`, {
      cause: error,
    })
  }
}

interface Scanned {
  log: OpenLog
  start: LogStart
  frames: readonly LogFrame[]
  /** SQLite itself would take so many. */
  chained: number
  index: LogIndex | undefined
}

/** A log with damage that reaches something acknowledged. Numbers of frames are counted from the first. */
interface Judged extends Omit<Scanned, 'index'> {
  /** Frames that were acknowledged, as far as that can be known. */
  acknowledged: number
  /** Of these, as many as can be had: up to the end of a transaction. */
  usable: number
  /** All of them are in the database. */
  isCopied: boolean
  /** So many frames may have been copied into the database, of which some are lost. */
  copyBegun: number
}

function judge(log: OpenLog, databasePath: string): Judged | null {
  const { start, frames } = readLog(log, databasePath)
  const index = readIndex(databasePath, frames, start)
  if (index !== undefined) proveLast(frames, index)
  const chained = endOfLast(frames, (frame) => frame.isChained)
  const copied = copiedFrames({ log, start, frames, chained, index }, databasePath)
  const acknowledged = Math.max(copied, acknowledgedFrames(frames, { chained, start, index }))
  if (acknowledged <= chained) return null
  // a log that was begun anew may have had one frame, before those of an earlier life, which are in the database
  const isEarlierLife = copied > 0 && !start.isWhole && frames[0]?.isWhole !== true
  return {
    log,
    start,
    frames,
    acknowledged,
    chained,
    usable: isEarlierLife ? 0 : usableFrames(frames, { chained, index }),
    isCopied: copied >= acknowledged && !isEarlierLife,
    copyBegun: index?.copyBegun ?? 0,
  }
}

/**
 * How many frames the database has for certain, some of them behind the damage; 0 when that is not so. Then all of them
 * were acknowledged, and the log must not be used up to its damage: the database is ahead of that.
 */
function copiedFrames({ log, start, frames, chained, index }: Scanned, databasePath: string): number {
  if (!frames.some(({ isOurs, isChained }) => isOurs && !isChained)) return 0
  const lastWhole = 1 + frames.findLastIndex(({ isWhole }) => isWhole)
  const lastEnd = endOfLast(frames, ({ isWhole }) => isWhole)
  const pageOf = (frame: LogFrame, i: number) => toldPage(i, index) ?? frame.page
  const pages = frames[lastEnd - 1]?.commitPages ?? 0
  const isCopied = (end: number) =>
    end > chained && isInDatabase(log, { databasePath, frames, pageOf, pages, pageBytes: start.pageBytes, end })
  // behind the last end may be a transaction that was being written, or the rest of a damaged last one
  const end = [lastWhole, lastEnd].find(isCopied) ?? 0
  return end > 0 ? Math.max(end, index?.copied ?? 0) : 0
}

/** The number of frames up to the end of the last transaction that ends in one of `which`. */
function endOfLast(frames: readonly LogFrame[], which: (frame: LogFrame) => boolean): number {
  return 1 + frames.findLastIndex((frame) => frame.commitPages > 0 && which(frame))
}

function readLog(log: OpenLog, databasePath: string): { start: LogStart; frames: LogFrame[] } {
  const bytes = readAt(log, 0, LOG_HEADER_BYTES)
  const header = parseLogHeader(bytes)
  const pageBytes = header.isWhole ? header.pageBytes : databasePageBytes(databasePath)
  const maxPages = Math.ceil((statSync(databasePath).size + log.bytes) / pageBytes)
  const starts = saltsOf(log, header, pageBytes).map(
    (salts): LogStart => ({
      pageBytes,
      salts,
      maxPages,
      isWhole: header.isWhole,
      sums: header.isWhole ? [header.storedSum] : [header.storedSum, header.sum],
    }),
  )
  const scans = starts.map((start) => ({ start, frames: scanLog(log, start) }))
  const found = scans.find(({ frames }) => frames.some(({ isWhole, commitPages }) => isWhole && commitPages > 0))
  return found ?? scans[0] ?? { start: { pageBytes, maxPages, salts: 0n, sums: [], isWhole: false }, frames: [] }
}

/** In a damaged header they are as damaged as all else in it; the frames bear them as well. */
function saltsOf(log: OpenLog, header: LogHeader, pageBytes: number): bigint[] {
  if (header.isWhole) return [header.salts]
  const frameBytes = FRAME_HEADER_BYTES + pageBytes
  return [0, 1]
    .map((index) => LOG_HEADER_BYTES + index * frameBytes)
    .filter((at) => at + frameBytes <= log.bytes)
    .map((at) => parseFrameHeader(readAt(log, at, FRAME_HEADER_BYTES), 0).salts)
}

function databasePageBytes(path: string): number {
  const file = openSync(path, 'r')
  try {
    const bytes = readAt({ file }, 16, 2).readUInt16BE(0)
    const pageBytes = bytes === 1 ? 65_536 : bytes
    return isPageSize(pageBytes) ? pageBytes : DEFAULT_PAGE_BYTES
  } finally {
    closeSync(file)
  }
}

/** The index of this life of the log; undefined without one. */
function readIndex(databasePath: string, frames: readonly LogFrame[], { salts }: LogStart): LogIndex | undefined {
  const path = `${databasePath}-shm`
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined
  const index = parseLogIndex(Buffer.from(new Uint8Array(readFileSync(path))))
  if (index?.salts !== salts) return undefined
  const isTrue = frames.slice(0, index.frames).every(({ isWhole, page }, i) => !isWhole || index.pageOf(i + 1) === page)
  // after a power cut parts of it may be of another time than its header
  return isTrue ? index : { ...index, pageOf: () => undefined }
}

/** No frame is behind the last that would prove it; the index has its sum too. */
function proveLast(frames: readonly LogFrame[], index: LogIndex): void {
  const last = frames[index.frames - 1]
  if (last?.sum !== undefined && isSameSum(last.sum, index.sum)) last.isWhole = true
}

/** What proves that more than `chained` frames were acknowledged. */
interface Evidence {
  chained: number
  start: LogStart
  index: LogIndex | undefined
}

function acknowledgedFrames(frames: readonly LogFrame[], { chained, start, index }: Evidence): number {
  const behind = frames.slice(chained)
  const ends = behind.flatMap((frame, i) => (isEnd(frame) ? [chained + i + 1] : []))
  const last = ends.at(-1) ?? 0
  // one end alone may be that of a transaction that was being written, unless all of it is there
  const firstMissing = behind.findIndex(({ isWhole }) => !isWhole)
  const isWholeToAnEnd = (ends[0] ?? Infinity) <= (firstMissing === -1 ? frames.length : chained + firstMissing)
  const isProven = ends.length > 1 || isWholeToAnEnd || (ends.length === 1 && !start.isWhole)
  return Math.max(index?.frames ?? 0, isProven ? last : 0)
}

/** Whether a transaction ended with this frame: the end was written, whatever became of the page. */
function isEnd({ commitPages, isWhole, isOurs, isSumProven, isInOneSector }: LogFrame): boolean {
  return commitPages > 0 && (isWhole || (isOurs && isSumProven && isInOneSector))
}

/**
 * The frames up to the last end of a transaction before which nothing is missing: each damaged frame is followed by a
 * whole one with the same page, so that its own content counts for nothing.
 */
function usableFrames(frames: readonly LogFrame[], { chained, index }: Pick<Evidence, 'chained' | 'index'>): number {
  const next = new Map<number, number>()
  const neededFrames = frames.map(() => 0)
  for (let i = frames.length - 1; i >= chained; i--) {
    const frame = frames[i]
    if (frame === undefined) break
    if (frame.isWhole) next.set(frame.page, i + 1)
    else neededFrames[i] = next.get(surePage(frame, i, index) ?? 0) ?? Infinity
  }
  let usable = chained
  let needed = 0
  frames.forEach((frame, i) => {
    if (i < chained) return
    needed = Math.max(needed, neededFrames[i] ?? 0)
    if (frame.isWhole && frame.commitPages > 0 && needed <= i + 1) usable = i + 1
  })
  return usable
}

function surePage(frame: LogFrame, i: number, index: LogIndex | undefined): number | undefined {
  return toldPage(i, index) ?? (frame.isDamagePage && frame.isSumProven ? frame.page : undefined)
}

function toldPage(i: number, index: LogIndex | undefined): number | undefined {
  return index !== undefined && i < index.frames ? index.pageOf(i + 1) : undefined
}

interface Circumstances {
  databasePath: string
  foundAtMs: number
  writtenAtMs: number
}

function settle(judged: Judged, { databasePath, foundAtMs, writtenAtMs }: Circumstances): DamageFinding {
  const { acknowledged, usable, chained, isCopied, frames } = judged
  const path = `${databasePath}-wal`
  const copy = keepCopy(path, writtenAtMs)
  if (isCopied) removeLog(databasePath)
  else if (usable > chained) writeRepairedLog(path, judged)
  const lost = isCopied ? 0 : acknowledged - usable
  const damaged = frames.slice(0, acknowledged).filter(({ isWhole }) => !isWhole).length
  const kept = `The damaged log is kept as ${copy}; the disk or card may be failing.`
  if (lost > 0)
    return {
      place: 'log',
      outcome: 'lost',
      detail: `${describeLoss(judged, writtenAtMs)} ${kept}`,
      foundAtMs,
    }
  const how = isCopied
    ? 'all of it is in the database already'
    : 'what they held is in later ones or could be proven by their neighbours'
  const what = damaged === 0 ? 'fields of its format' : `${damaged} of ${acknowledged} frames`
  const detail = `The write-ahead log was damaged (${what}), and was mended: ${how}, so nothing is missing. ${kept}`
  return { place: 'log', outcome: 'mended', detail, foundAtMs }
}

function describeLoss({ frames, usable, acknowledged, copyBegun }: Judged, writtenAtMs: number): string {
  const transactions = frames.slice(usable, acknowledged).filter(isEnd).length
  const mixed =
    copyBegun > usable
      ? ` Parts of them are in the database, which may not fit together: stop the gateway and run ${typedCommand('repair')}.`
      : ''
  return (
    `The write-ahead log was damaged: ${acknowledged - usable} frames with at least ${Math.max(1, transactions)} transactions ` +
    `that were acknowledged until ${toIso(Math.round(writtenAtMs))} are lost, those before them are stored.${mixed}`
  )
}

function readAt({ file }: Pick<OpenLog, 'file'>, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  readSync(file, bytes, 0, length, at)
  return bytes
}
