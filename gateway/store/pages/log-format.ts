// SQLite's write-ahead log and its index (`-shm`): https://www.sqlite.org/fileformat2.html#walformat

export const LOG_HEADER_BYTES = 32
export const FRAME_HEADER_BYTES = 24
const SUMMED_HEADER_BYTES = 24
const FORMAT = 3_007_000
/** Magic number of little-endian checksums, as on every machine that the gateway supports. */
const LITTLE_ENDIAN_MAGIC = 0x377f_0682

/** Running checksum that chains the header and the frames: two signed 32-bit words. */
export interface LogSum {
  a: number
  b: number
}

/** Salts of one life of a log; new ones whenever it is written from its beginning. Big-endian, as in the file. */
export type Salts = bigint

/** Continues `sum` over `bytes` from `from` to `to`; both must be multiples of 8. */
function addToSum(sum: LogSum, bytes: Buffer, from: number, to: number): LogSum {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + from, (to - from) / 4)
  let { a, b } = sum
  for (let i = 0; i < words.length; i += 2) {
    a = (a + Number(words[i]) + b) | 0
    b = (b + Number(words[i + 1]) + a) | 0
  }
  return { a, b }
}

/** Returns the checksum before the words from `from` to `to` were added. */
function takeFromSum(sum: LogSum, bytes: Buffer, from: number, to: number): LogSum {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + from, (to - from) / 4)
  let { a, b } = sum
  for (let i = words.length - 2; i >= 0; i -= 2) {
    b = (b - Number(words[i + 1]) - a) | 0
    a = (a - Number(words[i]) - b) | 0
  }
  return { a, b }
}

export function isSameSum(one: LogSum, other: LogSum): boolean {
  return one.a === other.a && one.b === other.b
}

function readSum(bytes: Buffer, at: number): LogSum {
  return { a: bytes.readInt32BE(at), b: bytes.readInt32BE(at + 4) }
}

export interface LogHeader {
  pageBytes: number
  salts: Salts
  storedSum: LogSum
  /** Checksum over the header as read; differs from the stored one if the header is damaged. */
  sum: LogSum
  isWhole: boolean
}

export function parseLogHeader(bytes: Buffer): LogHeader {
  const storedSum = readSum(bytes, SUMMED_HEADER_BYTES)
  const sum = addToSum({ a: 0, b: 0 }, bytes, 0, SUMMED_HEADER_BYTES)
  const pageBytes = bytes.readUInt32BE(8)
  const isOurs = bytes.readUInt32BE(0) === LITTLE_ENDIAN_MAGIC && bytes.readUInt32BE(4) === FORMAT
  const isWhole = isOurs && isSameSum(sum, storedSum) && isPageSize(pageBytes)
  return { pageBytes, salts: bytes.readBigUInt64BE(16), storedSum, sum, isWhole }
}

export function isPageSize(bytes: number): boolean {
  return bytes >= 512 && bytes <= 65_536 && (bytes & (bytes - 1)) === 0
}

/** Writes the header of a new log and returns the checksum that its first frame continues. */
export function writeLogHeader(bytes: Buffer, pageBytes: number, salts: Salts): LogSum {
  bytes.writeUInt32BE(LITTLE_ENDIAN_MAGIC, 0)
  bytes.writeUInt32BE(FORMAT, 4)
  bytes.writeUInt32BE(pageBytes, 8)
  // number of checkpoints, which no reader uses
  bytes.writeUInt32BE(0, 12)
  bytes.writeBigUInt64BE(salts, 16)
  const sum = addToSum({ a: 0, b: 0 }, bytes, 0, SUMMED_HEADER_BYTES)
  writeSum(bytes, SUMMED_HEADER_BYTES, sum)
  return sum
}

export interface FrameHeader {
  page: number
  /** Number of pages of the database after the transaction that this frame ends; 0 if it ends none. */
  commitPages: number
  salts: Salts
  storedSum: LogSum
}

export function parseFrameHeader(bytes: Buffer, at: number): FrameHeader {
  return {
    page: bytes.readUInt32BE(at),
    commitPages: bytes.readUInt32BE(at + 4),
    salts: bytes.readBigUInt64BE(at + 8),
    storedSum: readSum(bytes, at + 16),
  }
}

/** Replaces the salts and the checksum of a frame, which continues `before`; returns its checksum. */
export function chainFrame(frame: Buffer, before: LogSum, salts: Salts): LogSum {
  frame.writeBigUInt64BE(salts, 8)
  const sum = sumFrame(frame, 0, frame.length, before)
  writeSum(frame, 16, sum)
  return sum
}

/** Returns the checksum of the frame of `frameBytes` at `at`, which continues `before`. */
export function sumFrame(bytes: Buffer, at: number, frameBytes: number, before: LogSum): LogSum {
  const head = addToSum(before, bytes, at, at + 8)
  return addToSum(head, bytes, at + FRAME_HEADER_BYTES, at + frameBytes)
}

/** Page number and size that would make a frame's checksum correct; if plausible, they may be damaged, not the page. */
export function findMatchingHeader(
  bytes: Buffer,
  { at, frameBytes, before, after }: { at: number; frameBytes: number; before: LogSum; after: LogSum },
): { page: number; commitPages: number } {
  const { a, b } = takeFromSum(after, bytes, at + FRAME_HEADER_BYTES, at + frameBytes)
  const words = Buffer.alloc(8)
  words.writeInt32LE((a - before.a - before.b) | 0, 0)
  words.writeInt32LE((b - before.b - a) | 0, 4)
  return { page: words.readUInt32BE(0), commitPages: words.readUInt32BE(4) }
}

function writeSum(bytes: Buffer, at: number, { a, b }: LogSum): void {
  bytes.writeInt32BE(a, at)
  bytes.writeInt32BE(b, at + 4)
}

/** Content of a `-shm` file about the log: its header, which has two copies, and the page of each frame. */
export interface LogIndex {
  salts: Salts
  /** Number of frames that were on the disk when their transaction was acknowledged. */
  frames: number
  /** Checksum of frame number `frames`. */
  sum: LogSum
  /** Number of frames that a checkpoint may have copied into the database; `copied` is the number that it has. */
  copyBegun: number
  copied: number
  /** Returns the page in a frame, counted from 1; undefined if the file ends before. */
  pageOf(frame: number): number | undefined
}

const INDEX_COPY_BYTES = 48
const INDEX_HEADER_BYTES = 136
const INDEX_BLOCK_BYTES = 32_768
const PAGES_IN_FIRST_BLOCK = 4096 - INDEX_HEADER_BYTES / 4
const PAGES_IN_BLOCK = 4096

/** Parses an index; undefined if no copy of the header is whole. Numbers are in the byte order of this machine. */
export function parseLogIndex(bytes: Buffer): LogIndex | undefined {
  if (bytes.length < INDEX_HEADER_BYTES) return undefined
  // SQLite writes the second copy first; both were valid when they were written
  const at = [INDEX_COPY_BYTES, 0].find((copy) => isWholeCopy(bytes, copy))
  if (at === undefined) return undefined
  return {
    salts: bytes.readBigUInt64BE(at + 32),
    frames: bytes.readUInt32LE(at + 16),
    sum: { a: bytes.readInt32LE(at + 24), b: bytes.readInt32LE(at + 28) },
    copyBegun: bytes.readUInt32LE(128),
    copied: bytes.readUInt32LE(96),
    pageOf(frame) {
      const offset = pageOffset(frame)
      return offset + 4 <= bytes.length ? bytes.readUInt32LE(offset) : undefined
    },
  }
}

function isWholeCopy(bytes: Buffer, at: number): boolean {
  const sum = addToSum({ a: 0, b: 0 }, bytes, at, at + 40)
  const stored = { a: bytes.readInt32LE(at + 40), b: bytes.readInt32LE(at + 44) }
  return bytes.readUInt32LE(at) === FORMAT && bytes[at + 12] === 1 && isSameSum(sum, stored)
}

function pageOffset(frame: number): number {
  if (frame <= PAGES_IN_FIRST_BLOCK) return INDEX_HEADER_BYTES + (frame - 1) * 4
  const later = frame - 1 - PAGES_IN_FIRST_BLOCK
  const block = 1 + Math.floor(later / PAGES_IN_BLOCK)
  return block * INDEX_BLOCK_BYTES + (later % PAGES_IN_BLOCK) * 4
}
