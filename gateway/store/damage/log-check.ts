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
 * Checks the write-ahead log before SQLite opens the database: SQLite would silently end the log at the first damaged
 * frame and overwrite the rest. Returns the finding, or null. A last transaction torn by a power cut does not count as
 * damage, because it was never acknowledged. A damaged log is copied next to the original, and repaired where all
 * acknowledged transactions can be recovered. No process may have the database open. Throws an `Error` with a readable
 * message if the log cannot be read or the copy cannot be written.
 */
export function checkLog(databasePath: string, foundAtMs: number): DamageFinding | null {
  const path = `${databasePath}-wal`
  try {
    // left over from a repair that was interrupted
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
  /** Number of frames that SQLite itself would accept. */
  chained: number
  index: LogIndex | undefined
}

/** Log with damage that affects acknowledged transactions. Frames are counted from the first. */
interface Judged extends Omit<Scanned, 'index'> {
  /** Number of frames that were acknowledged, as far as is known. */
  acknowledged: number
  /** Number of these frames that can be recovered, up to the end of a transaction. */
  usable: number
  /** True if all acknowledged frames are in the database. */
  isCopied: boolean
  /** Number of frames that a checkpoint may have copied into the database. */
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
  // a restarted log may have one frame of its own, followed by frames of an earlier life, which are in the database
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
 * Returns the number of frames certainly in the database, some of them after the damage; 0 if unknown. These were all
 * acknowledged, and the log must not be applied up to the damage, because the database is newer than that.
 */
function copiedFrames({ log, start, frames, chained, index }: Scanned, databasePath: string): number {
  if (!frames.some(({ isOurs, isChained }) => isOurs && !isChained)) return 0
  const lastWhole = 1 + frames.findLastIndex(({ isWhole }) => isWhole)
  const lastEnd = endOfLast(frames, ({ isWhole }) => isWhole)
  const pageOf = (frame: LogFrame, i: number) => indexedPage(i, index) ?? frame.page
  const pages = frames[lastEnd - 1]?.commitPages ?? 0
  const isCopied = (end: number) =>
    end > chained && isInDatabase(log, { databasePath, frames, pageOf, pages, pageBytes: start.pageBytes, end })
  // the frames after the last end may belong to an unfinished transaction, or to a damaged last one
  const end = [lastWhole, lastEnd].find(isCopied) ?? 0
  return end > 0 ? Math.max(end, index?.copied ?? 0) : 0
}

/** Returns the number of frames up to the end of the last transaction whose last frame satisfies `which`. */
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

/** Returns possible salts. Those in a damaged header may be damaged too, but each frame repeats them. */
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

/** Returns the index of this life of the log; undefined if it has no index. */
function readIndex(databasePath: string, frames: readonly LogFrame[], { salts }: LogStart): LogIndex | undefined {
  const path = `${databasePath}-shm`
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined
  const index = parseLogIndex(Buffer.from(new Uint8Array(readFileSync(path))))
  if (index?.salts !== salts) return undefined
  const isTrue = frames.slice(0, index.frames).every(({ isWhole, page }, i) => !isWhole || index.pageOf(i + 1) === page)
  // after a power cut, parts of the index may be older or newer than its header
  return isTrue ? index : { ...index, pageOf: () => undefined }
}

/** Marks the last frame as whole if the index has its checksum; no later frame could prove it. */
function proveLast(frames: readonly LogFrame[], index: LogIndex): void {
  const last = frames[index.frames - 1]
  if (last?.sum !== undefined && isSameSum(last.sum, index.sum)) last.isWhole = true
}

/** Evidence that more than `chained` frames were acknowledged. */
interface Evidence {
  chained: number
  start: LogStart
  index: LogIndex | undefined
}

function acknowledgedFrames(frames: readonly LogFrame[], { chained, start, index }: Evidence): number {
  const behind = frames.slice(chained)
  const ends = behind.flatMap((frame, i) => (isEnd(frame) ? [chained + i + 1] : []))
  const last = ends.at(-1) ?? 0
  // a single end may belong to an unfinished transaction, unless that is complete
  const firstMissing = behind.findIndex(({ isWhole }) => !isWhole)
  const isWholeToAnEnd = (ends[0] ?? Infinity) <= (firstMissing === -1 ? frames.length : chained + firstMissing)
  const isProven = ends.length > 1 || isWholeToAnEnd || (ends.length === 1 && !start.isWhole)
  return Math.max(index?.frames ?? 0, isProven ? last : 0)
}

/** True if a transaction ended with this frame: its end was written, even if the page is damaged. */
function isEnd({ commitPages, isWhole, isOurs, isSumProven, isInOneSector }: LogFrame): boolean {
  return commitPages > 0 && (isWhole || (isOurs && isSumProven && isInOneSector))
}

/** Number of frames up to the last end before which nothing is missing: damaged pages have later whole frames. */
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
  return indexedPage(i, index) ?? (frame.isDamagePage && frame.isSumProven ? frame.page : undefined)
}

function indexedPage(i: number, index: LogIndex | undefined): number | undefined {
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
    ? 'all its content is already in the database'
    : 'their content is in later frames or could be proven by adjacent ones'
  const what = damaged === 0 ? 'fields of its format' : `${damaged} of ${acknowledged} frames`
  const detail = `The write-ahead log was damaged (${what}), and was repaired: ${how}, so nothing is missing. ${kept}`
  return { place: 'log', outcome: 'mended', detail, foundAtMs }
}

function describeLoss({ frames, usable, acknowledged, copyBegun }: Judged, writtenAtMs: number): string {
  const transactions = frames.slice(usable, acknowledged).filter(isEnd).length
  const mixed =
    copyBegun > usable
      ? ' Parts of them are in the database, which may be inconsistent: stop the gateway and run ' +
        `${typedCommand('repair')}.`
      : ''
  return (
    `The write-ahead log was damaged: ${acknowledged - usable} frames with at least ` +
    `${Math.max(1, transactions)} transactions ` +
    `that were acknowledged until ${toIso(Math.round(writtenAtMs))} are lost, those before them are stored.${mixed}`
  )
}

function readAt({ file }: Pick<OpenLog, 'file'>, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  readSync(file, bytes, 0, length, at)
  return bytes
}
