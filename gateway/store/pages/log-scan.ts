import { readSync } from 'node:fs'
import {
  FRAME_HEADER_BYTES,
  type FrameHeader,
  findMatchingHeader,
  isSameSum,
  LOG_HEADER_BYTES,
  type LogSum,
  parseFrameHeader,
  type Salts,
  sumFrame,
} from './log-format.ts'

/** Bytes in one read; a log has hundreds of MB if a reader blocked its checkpoints. */
const CHUNK_BYTES = 1 << 20
/** Unit that a disk writes completely or not at all. */
const SECTOR_BYTES = 512

/** Findings about a frame of a log. */
export interface LogFrame extends Pick<FrameHeader, 'page' | 'commitPages'> {
  /** The page and size are as they were written, proven by the checksum of the previous or the next frame. */
  isWhole: boolean
  /** SQLite reads up to this frame: all frames so far are unchanged in every field. */
  isChained: boolean
  /** The frame belongs to this life of the log, or has its salts. */
  isOurs: boolean
  /** The stored checksum is as it was written, proven by the next frame. */
  isSumProven: boolean
  /** The damage is in the page and not in the page number, as far as the adjacent frames show. */
  isDamagePage: boolean
  /** The header is within one sector, so it was written as a whole. */
  isInOneSector: boolean
  /** Checksum over the content as read; undefined if the previous one is unknown. */
  sum: LogSum | undefined
}

export interface LogStart {
  pageBytes: number
  salts: Salts
  /** Checksums that the first frame may continue: the one in the header, and the one computed over it if different. */
  sums: readonly LogSum[]
  isWhole: boolean
  /** Upper limit of the number of pages of the database. */
  maxPages: number
}

export interface OpenLog {
  file: number
  bytes: number
}

/** Calls `visit` with every frame of a log, a section of `bytes` at `at`; the bytes are invalid after the call. */
export function readFrames(
  log: OpenLog,
  pageBytes: number,
  visit: (bytes: Buffer, at: number, index: number) => void,
): void {
  const frameBytes = FRAME_HEADER_BYTES + pageBytes
  const perChunk = Math.max(1, Math.floor(CHUNK_BYTES / frameBytes))
  const chunk = Buffer.alloc(perChunk * frameBytes)
  const count = Math.floor((log.bytes - LOG_HEADER_BYTES) / frameBytes)
  for (let index = 0; index < count; index += perChunk) {
    const length = readSync(log.file, chunk, 0, chunk.length, LOG_HEADER_BYTES + index * frameBytes)
    const read = Math.min(Math.floor(length / frameBytes), count - index)
    for (let i = 0; i < read; i++) visit(chunk, i * frameBytes, index + i)
  }
}

/** Returns all frames of a log in order, each checked against its adjacent frames. */
export function scanLog(log: OpenLog, start: LogStart): LogFrame[] {
  const scan = new Scan(start)
  readFrames(log, start.pageBytes, (bytes, at, index) => scan.add(bytes, at, index))
  scan.doubtHeads()
  return scan.frames
}

class Scan {
  readonly frames: LogFrame[] = []
  readonly #start: LogStart
  /** Checksums that the next frame may continue: the one stored in the last frame, and the one computed over it. */
  #sums: readonly LogSum[]
  /** Headers that would make the checksums of damaged frames correct if their pages are correct, by index. */
  readonly #wantedHeads = new Map<number, WantedHead>()

  constructor(start: LogStart) {
    this.#start = start
    this.#sums = start.sums
  }

  add(bytes: Buffer, at: number, index: number): void {
    const header = parseFrameHeader(bytes, at)
    const before = this.frames.at(-1)
    const hasSalts = header.salts === this.#start.salts
    const sums = this.#sumsOver(bytes, at, hasSalts || (before?.isOurs ?? true))
    const proof = sums.findIndex((sum) => isSameSum(sum, header.storedSum))
    const isWhole = proof !== -1
    if (before !== undefined && proof === 0) before.isSumProven = true
    // only the stored checksum was damaged
    if (before !== undefined && proof === 1) before.isWhole = true
    const wasChained = before?.isChained ?? this.#start.isWhole
    const isSumKnown = before?.isWhole ?? this.#start.isWhole
    const sum = isSumKnown ? sums[0] : undefined
    const isDamaged = !isWhole && hasSalts && sum !== undefined
    if (isDamaged) this.#wantedHeads.set(index, this.#headWanted(bytes, at, header))
    this.frames.push({
      page: header.page,
      commitPages: header.commitPages,
      isWhole,
      isChained: wasChained && hasSalts && proof === 0,
      isOurs: hasSalts || isWhole,
      isSumProven: false,
      isDamagePage: isDamaged,
      isInOneSector: isInOneSector(index, this.#start.pageBytes),
      sum,
    })
    const isOther = sum !== undefined && !isWhole
    this.#sums = isOther ? [header.storedSum, sum] : [header.storedSum]
  }

  /** Checksums after each possible previous one; for a frame of an earlier life, only after one of this life. */
  #sumsOver(bytes: Buffer, at: number, isPossible: boolean): LogSum[] {
    const frameBytes = FRAME_HEADER_BYTES + this.#start.pageBytes
    return isPossible ? this.#sums.map((before) => sumFrame(bytes, at, frameBytes, before)) : []
  }

  #headWanted(bytes: Buffer, at: number, { storedSum: after }: FrameHeader): WantedHead {
    const [before] = this.#sums
    if (before === undefined) return { page: 1, commitPages: 0 }
    return findMatchingHeader(bytes, { at, frameBytes: FRAME_HEADER_BYTES + this.#start.pageBytes, before, after })
  }

  /**
   * Marks the damaged frames in which the page number may be wrong and not the page: those with a plausible matching
   * header. A plausible size is 0, for no end of a transaction, or lies between those of the adjacent ends. Without
   * this limit, one wrong bit of a page would be ambiguous in every fourth position, because in the last byte of a word
   * it changes only the low bytes of the matching header.
   */
  doubtHeads(): void {
    if (this.#wantedHeads.size === 0) return
    const { maxPages } = this.#start
    const sizesAfter: number[] = []
    for (let i = this.frames.length - 1, size = maxPages; i >= 0; i--) {
      sizesAfter[i] = size
      size = sizeOfEnd(this.frames[i]) ?? size
    }
    let sizeBefore = 1
    for (const [i, frame] of this.frames.entries()) {
      const wanted = this.#wantedHeads.get(i)
      const sizes = [sizeBefore, sizesAfter[i] ?? maxPages]
      if (wanted !== undefined && isLikely(wanted, sizes, maxPages)) frame.isDamagePage = false
      sizeBefore = sizeOfEnd(frame) ?? sizeBefore
    }
  }
}

type WantedHead = Pick<FrameHeader, 'page' | 'commitPages'>

function isLikely({ page, commitPages }: WantedHead, sizes: readonly number[], maxPages: number): boolean {
  if (page < 1 || page > maxPages) return false
  return commitPages === 0 || (commitPages >= Math.min(...sizes) && commitPages <= Math.max(...sizes))
}

/** Returns the number of pages of the database at the end of a transaction, if this is a whole frame that ends one. */
function sizeOfEnd(frame: LogFrame | undefined): number | undefined {
  return frame?.isWhole && frame.commitPages > 0 ? frame.commitPages : undefined
}

function isInOneSector(index: number, pageBytes: number): boolean {
  const at = LOG_HEADER_BYTES + index * (FRAME_HEADER_BYTES + pageBytes)
  return (at % SECTOR_BYTES) + FRAME_HEADER_BYTES <= SECTOR_BYTES
}
