import { crc32 } from 'node:zlib'
import { DamagedBlockError, NewerBlockError } from './damaged-block.ts'
import {
  INTEGERS_HEAD_BYTES,
  leastGroupBytes,
  mostGroupBytes,
  TIMES_HEAD_BYTES,
  WINDOW_OVERRUN_BYTES,
} from './packed-bits.ts'
import { BATTERY, GPS, type RecordKind } from './records.ts'

// Little-endian:
//   0  "ctb", version    in every version
//   4  length            in every version: bytes of the whole block
//   8  kind, 0
//  10  count
//  12  first time, ms
//  20  last time, ms
//  28  columns (packed-bits.ts): times, then those of the kind
//  -4  CRC-32 of all before it, in every version
const VERSION = 1
const MAGIC = 0x62_74_63
const LENGTH_AT = 4
const KIND_AT = 8
const COUNT_AT = 10
const FIRST_AT = 12
const LAST_AT = 20
// CRC-32 rather than CRC-32C because zlib's is native; each finds any burst of up to 32 bits.
const CHECKSUM_BYTES = WINDOW_OVERRUN_BYTES

export const HEADER_BYTES = 28

/** Maximum time in a block: 2^43 ms, in the year 2248. */
const MAX_BLOCK_TIME_MS = 2 ** 43 - 1

const KINDS = { 1: GPS, 2: BATTERY } as const

export interface BlockHeader {
  readonly kind: RecordKind<never>['name']
  readonly version: number
  readonly count: number
  readonly firstMs: number
  readonly lastMs: number
}

/** Writes header and checksum around columns that end at `end`; returns the length of the block. */
export function sealBlock(view: DataView, end: number, header: Omit<BlockHeader, 'version'>): number {
  view.setUint32(0, MAGIC | (VERSION << 24), true)
  view.setUint32(LENGTH_AT, end + CHECKSUM_BYTES, true)
  view.setUint8(KIND_AT, header.kind === 'gps' ? 1 : 2)
  view.setUint16(COUNT_AT, header.count, true)
  view.setFloat64(FIRST_AT, header.firstMs, true)
  view.setFloat64(LAST_AT, header.lastMs, true)
  view.setUint32(end, checksum(view, end), true)
  return end + CHECKSUM_BYTES
}

/** Verifies the checksum of all bytes, then reads the header. Throws like `verifyBlock`. */
export function openBlock(view: DataView): BlockHeader {
  const { byteLength } = view
  if (byteLength < HEADER_BYTES + CHECKSUM_BYTES) {
    throw new DamagedBlockError('wrong_length', `${byteLength} bytes are too few`)
  }
  if ((view.getUint32(0, true) & 0xff_ff_ff) !== MAGIC) throw new DamagedBlockError('not_a_block', 'no "ctb"')
  const length = view.getUint32(LENGTH_AT, true)
  if (length !== byteLength) {
    throw new DamagedBlockError('wrong_length', `${byteLength} bytes instead of ${length}`)
  }
  const end = columnsEnd(view)
  if (checksum(view, end) !== view.getUint32(end, true)) {
    throw new DamagedBlockError('wrong_checksum', 'its checksum does not match')
  }
  const version = view.getUint8(3)
  if (version > VERSION) throw new NewerBlockError(version, VERSION)
  if (version !== VERSION) throw impossible(`version ${version}`)
  return readHeader(view)
}

/** End offset of the last column of a block. */
export function columnsEnd(view: DataView): number {
  return view.byteLength - CHECKSUM_BYTES
}

/** Upper bound of the size of a block with this many records, in bytes. */
export function mostBlockBytes(columns: number, count: number): number {
  return HEADER_BYTES + headBytes(columns) + (1 + columns) * mostGroupBytes(count) + CHECKSUM_BYTES
}

export function isBlockTime(atMs: number): boolean {
  return Number.isInteger(atMs) && atMs >= 0 && atMs <= MAX_BLOCK_TIME_MS
}

function readHeader(view: DataView): BlockHeader {
  const code = view.getUint8(KIND_AT)
  if (code !== 1 && code !== 2) throw impossible(`kind ${code}`)
  const { name, rules } = KINDS[code]
  const count = view.getUint16(COUNT_AT, true)
  const leastBytes = headBytes(rules.length) + (1 + rules.length) * leastGroupBytes(count)
  if (count < 1 || HEADER_BYTES + leastBytes > columnsEnd(view)) throw impossible(`${count} records`)
  const firstMs = view.getFloat64(FIRST_AT, true)
  const lastMs = view.getFloat64(LAST_AT, true)
  if (!isBlockTime(firstMs) || !isBlockTime(lastMs)) throw impossible('a time out of range')
  return { kind: name, version: VERSION, count, firstMs, lastMs }
}

function headBytes(columns: number): number {
  return TIMES_HEAD_BYTES + columns * INTEGERS_HEAD_BYTES
}

function checksum(view: DataView, end: number): number {
  return crc32(new Uint8Array(view.buffer, view.byteOffset, end))
}

function impossible(what: string): DamagedBlockError {
  return new DamagedBlockError('impossible_content', what)
}
