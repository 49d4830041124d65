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

/** Read at once; a log has hundreds of MB when a reader held it back. */
const CHUNK_BYTES = 1 << 20
/** What a disk writes whole or not at all. */
const SECTOR_BYTES = 512

/** What is known of a frame of a log. */
export interface LogFrame extends Pick<FrameHeader, 'page' | 'commitPages'> {
  /** Its page and size are what was written: the sum of the frame before, or of the one behind, proves it. */
  isWhole: boolean
  /** SQLite gets this far: all frames up to this one are as they were written, in every field. */
  isChained: boolean
  /** It is of this life of the log, or says so. */
  isOurs: boolean
  /** The sum it bears is the one that was written: the frame behind it proves it. */
  isSumProven: boolean
  /** Damage is in its page and not in its page number, as far as its neighbours tell. */
  isDamagePage: boolean
  /** All of its header was written at once. */
  isInOneSector: boolean
  /** The sum over what is there, if the one before it is known. */
  sum: LogSum | undefined
}

export interface LogStart {
  pageBytes: number
  salts: Salts
  /** What the first frame may continue: the sum in the header, and the one over it where that is another. */
  sums: readonly LogSum[]
  isWhole: boolean
  /** The database cannot have more. */
  maxPages: number
}

export interface OpenLog {
  file: number
  bytes: number
}

/** Calls `visit` with every frame of a log, a part of `bytes` from `at` on; the bytes are gone after the call. */
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

/** All frames of a log, in their order, each judged by its neighbours. */
export function scanLog(log: OpenLog, start: LogStart): LogFrame[] {
  const scan = new Scan(start)
  readFrames(log, start.pageBytes, (bytes, at, index) => scan.add(bytes, at, index))
  scan.doubtHeads()
  return scan.frames
}

class Scan {
  readonly frames: LogFrame[] = []
  readonly #start: LogStart
  /** The sums that the next frame may continue: the one that the last bears, and the one over it. */
  #sums: readonly LogSum[]
  /** Heads that would make the sums of damaged frames right if their pages are, by index. */
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
    // only the sum that it bears was damaged
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

  /**
   * What its sum would be after each that it may continue; of frames of an earlier life only if one of ours is before.
   */
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
   * Marks the damaged frames in which the page number may be wrong and not the page: those whose wanted head is a
   * likely one. A size is that of no end, 0, or lies between those of the ends around it. Without this one wrong bit of
   * a page is doubtful in every fourth place, as in the last byte of a word it changes only the low bytes of the wanted
   * head.
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

/** Pages of the database at the end of a transaction, if this is a whole frame that ends one. */
function sizeOfEnd(frame: LogFrame | undefined): number | undefined {
  return frame?.isWhole && frame.commitPages > 0 ? frame.commitPages : undefined
}

function isInOneSector(index: number, pageBytes: number): boolean {
  const at = LOG_HEADER_BYTES + index * (FRAME_HEADER_BYTES + pageBytes)
  return (at % SECTOR_BYTES) + FRAME_HEADER_BYTES <= SECTOR_BYTES
}
