import type { Value } from '../db/connection.ts'
import { PAGE_BYTES, type RawPages } from './raw-pages.ts'

/** Page of a table or an index: https://sqlite.org/fileformat2.html#b_tree_pages. */
export interface BtreePage {
  readonly isLeaf: boolean
  /** True if rows are found by their first columns and not by a number: an index, or a table WITHOUT ROWID. */
  readonly isIndex: boolean
  /** Offsets of its cells, in the order of their keys. */
  readonly cells: readonly number[]
  /** Numbers of its child pages, one more than cells. */
  readonly children: readonly number[]
}

const KINDS: Readonly<Record<number, { isLeaf: boolean; isIndex: boolean }>> = {
  2: { isLeaf: false, isIndex: true },
  5: { isLeaf: false, isIndex: false },
  10: { isLeaf: true, isIndex: true },
  13: { isLeaf: true, isIndex: false },
}
const DATABASE_HEADER_BYTES = 100
const CHILD_BYTES = 4
const ZEROS = Buffer.alloc(PAGE_BYTES)

/** Parses a b-tree page; null if it is not one, or contradicts itself. */
export function parseBtreePage(bytes: Buffer, number: number): BtreePage | null {
  const at = number === 1 ? DATABASE_HEADER_BYTES : 0
  const kind = KINDS[bytes[at] ?? 0]
  if (kind === undefined) return null
  const count = bytes.readUInt16BE(at + 3)
  const contentAt = bytes.readUInt16BE(at + 5)
  const listAt = at + (kind.isLeaf ? 8 : 12)
  if (listAt + 2 * count > contentAt || contentAt > bytes.length) return null
  const cells = Array.from({ length: count }, (_, i) => bytes.readUInt16BE(listAt + 2 * i))
  if (cells.some((cell) => cell < contentAt || cell > bytes.length - CHILD_BYTES)) return null
  if (new Set(cells).size < count) return null
  const children = kind.isLeaf ? [] : [...cells, at + 8].map((cell) => bytes.readUInt32BE(cell))
  return { ...kind, cells, children }
}

/** Row as stored in a page. */
export interface RawRow {
  /** Null if the tree has no rowids. */
  readonly rowid: bigint | null
  /** Returns the stored columns in their stored order; null if they cannot be read. */
  values(): readonly Value[] | null
}

/** Reads the row of a cell; null if not even its key can be read. */
export function rowAt(
  pages: RawPages,
  number: number,
  { bytes, page, cell }: { bytes: Buffer; page: BtreePage; cell: number },
): RawRow | null {
  const size = varintAt(bytes, page.isLeaf ? cell : cell + CHILD_BYTES)
  if (size === null) return null
  const rowid = page.isIndex ? null : varintAt(bytes, size.next)
  if (rowid === null && !page.isIndex) return null
  const at = rowid?.next ?? size.next
  return {
    rowid: rowid === null ? null : BigInt.asIntN(64, rowid.value),
    values: () => {
      const payload = payloadOf(pages, number, { bytes, at, size: Number(size.value), isIndex: page.isIndex })
      return payload === null ? null : decodeRecord(payload)
    },
  }
}

/** Payload of a cell with overflow pages: https://sqlite.org/fileformat2.html#cell_payload_overflow_pages. */
function payloadOf(
  pages: RawPages,
  number: number,
  { bytes, at, size, isIndex }: { bytes: Buffer; at: number; size: number; isIndex: boolean },
): Buffer | null {
  const most = isIndex ? Math.floor(((PAGE_BYTES - 12) * 64) / 255) - 23 : PAGE_BYTES - 35
  const least = Math.floor(((PAGE_BYTES - 12) * 32) / 255) - 23
  const perPage = PAGE_BYTES - 4
  const wanted = least + ((size - least) % perPage)
  let localBytes = wanted <= most ? wanted : least
  if (size <= most) localBytes = size
  const overflows = Math.ceil((size - localBytes) / perPage)
  if (at + localBytes + (overflows > 0 ? 4 : 0) > bytes.length || overflows > pages.count) return null
  const parts = [bytes.subarray(at, at + localBytes)]
  let from = number
  let next = overflows > 0 ? bytes.readUInt32BE(at + localBytes) : 0
  for (let left = size - localBytes; left > 0; left -= perPage) {
    const page = pages.read(next)
    const isOfRow = pages.map.allows(next, parts.length === 1 ? 'overflow' : 'more overflow', from)
    if (page === null || page.isRight === false || !isOfRow) return null
    // a page of zeros would pass as the last page of a row
    if (page.isRight === null && page.bytes.equals(ZEROS)) return null
    parts.push(page.bytes.subarray(4, 4 + Math.min(left, perPage)))
    from = next
    next = page.bytes.readUInt32BE(0)
  }
  // the last page names no next one
  return next === 0 ? Buffer.concat(parts) : null
}

/** Decodes https://sqlite.org/fileformat2.html#record_format; null unless its length matches its header. */
function decodeRecord(payload: Buffer): Value[] | null {
  const head = varintAt(payload, 0)
  if (head === null || head.value > payload.length) return null
  let at = Number(head.value)
  const values: Value[] = []
  for (let next = head.next; next < Number(head.value); ) {
    const type = varintAt(payload, next)
    const bytes = type === null ? null : bytesOf(Number(type.value))
    if (type === null || bytes === null || type.next > Number(head.value) || at + bytes > payload.length) return null
    values.push(columnAt(payload, at, Number(type.value), bytes))
    next = type.next
    at += bytes
  }
  return at === payload.length ? values : null
}

const NUMBER_BYTES = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0]
const TEXT_FROM = 13
const BLOB_FROM = 12

function bytesOf(type: number): number | null {
  if (type >= BLOB_FROM) return Math.floor((type - BLOB_FROM) / 2)
  return NUMBER_BYTES[type] ?? null
}

function columnAt(payload: Buffer, at: number, type: number, bytes: number): Value {
  if (type >= BLOB_FROM && type % 2 === 0) return payload.subarray(at, at + bytes)
  if (type >= TEXT_FROM) return payload.toString('utf8', at, at + bytes)
  if (type === 0) return null
  if (type === 7) return payload.readDoubleBE(at)
  if (type > 7) return BigInt(type - 8)
  return bytes === 8 ? payload.readBigInt64BE(at) : BigInt(payload.readIntBE(at, bytes))
}

/** Reads up to nine bytes, seven bits in each except the last. */
function varintAt(bytes: Buffer, at: number): { value: bigint; next: number } | null {
  let value = 0
  for (let i = 0; i < 6; i++) {
    const byte = bytes[at + i]
    if (byte === undefined) return null
    value = value * 128 + (byte & 127)
    if (byte < 128) return { value: BigInt(value), next: at + i + 1 }
  }
  let long = BigInt(value)
  for (let i = 6; i < 9; i++) {
    const byte = bytes[at + i]
    if (byte === undefined) return null
    long = i === 8 ? (long << 8n) | BigInt(byte) : (long << 7n) | BigInt(byte & 127)
    if (byte < 128) return { value: long, next: at + i + 1 }
  }
  return { value: long, next: at + 9 }
}
