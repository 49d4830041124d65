import { type BlockHeader, columnsEnd, HEADER_BYTES, mostBlockBytes, openBlock, sealBlock } from './block-header.ts'
import { ColumnReader } from './column-reader.ts'
import { ColumnScratch, ColumnWriter } from './column-writer.ts'
import { DamagedBlockError } from './damaged-block.ts'
import { findFault } from './record-faults.ts'
import { GPS, indexAtOrAfter, type RecordKind, type Records } from './records.ts'

/** Number of records in a full block. */
export const MAX_BLOCK_RECORDS = 2048

/** Work buffer: blocks are written here and copied from here. */
const ROOM = new Uint8Array(mostBlockBytes(GPS.rules.length, MAX_BLOCK_RECORDS))
const SCRATCH = new ColumnScratch(MAX_BLOCK_RECORDS)

/**
 * Encodes 1 to `MAX_BLOCK_RECORDS` records as one block; the same records always yield the same bytes. Throws
 * `RangeError` for records that a block cannot hold: times not ascending, values that violate the rules of the kind.
 */
export function encodeBlock<R extends Records>(kind: RecordKind<R>, records: R): Uint8Array {
  const { atMs } = records
  const columns = kind.columnsOf(records)
  if (atMs.length > MAX_BLOCK_RECORDS) {
    throw new RangeError(`${atMs.length} records instead of 1 to ${MAX_BLOCK_RECORDS}`)
  }
  const fault = findFault(kind, records)
  if (fault !== undefined) throw new RangeError(fault)
  const view = new DataView(ROOM.buffer)
  const writer = new ColumnWriter(view, HEADER_BYTES, SCRATCH)
  writer.writeTimes(atMs)
  for (const [i, rule] of kind.rules.entries()) {
    const column = columns[i]
    if (column !== undefined) writer.writeIntegers(column, rule)
  }
  const firstMs = atMs[0] ?? 0
  const lastMs = atMs[atMs.length - 1] ?? 0
  return ROOM.slice(0, sealBlock(view, writer.at, { kind: kind.name, count: atMs.length, firstMs, lastMs }))
}

/**
 * Verifies a block; returns its header. Throws `DamagedBlockError`, or `NewerBlockError` for an intact later version.
 */
export function verifyBlock(block: Uint8Array): BlockHeader {
  return openBlock(viewOf(block))
}

/**
 * Decodes a block into columns of the caller from `offset` on; returns its number of records. Throws like
 * `verifyBlock`, and `RangeError` for another kind or no room. After an error columns from `offset` on are undefined.
 */
export function decodeBlock<R extends Records>(kind: RecordKind<R>, block: Uint8Array, into: R, offset = 0): number {
  const view = viewOf(block)
  const header = openBlock(view)
  const { count, firstMs, lastMs } = header
  if (header.kind !== kind.name) throw new RangeError(`a ${header.kind} block has no ${kind.name} records`)
  const { atMs } = into
  if (!(offset >= 0 && offset + count <= atMs.length)) {
    throw new RangeError(`no room for ${count} records at ${offset} of ${atMs.length}`)
  }
  const reader = new ColumnReader(view, HEADER_BYTES, columnsEnd(view))
  reader.readTimes(firstMs, atMs, offset, count)
  if (atMs[offset + count - 1] !== lastMs)
    throw new DamagedBlockError('impossible_content', 'its last time does not match its header')
  const columns = kind.columnsOf(into)
  for (const [i, rule] of kind.rules.entries()) {
    const column = columns[i]
    if (column?.length !== atMs.length) throw new RangeError('columns of different lengths')
    reader.readIntegers(rule, column, offset, count)
  }
  reader.finish()
  return count
}

/**
 * Like `decodeBlock`, but only for records from `fromMs` to `toMs`, inclusive. Needs room for the whole block anyway.
 */
export function decodeBlockRange<R extends Records>(
  kind: RecordKind<R>,
  block: Uint8Array,
  range: { readonly fromMs: number; readonly toMs: number },
  into: R,
  offset = 0,
): number {
  const end = offset + decodeBlock(kind, block, into, offset)
  const from = indexAtOrAfter(into.atMs, range.fromMs, offset, end)
  // Times are whole numbers, so times from the next one on are after `toMs`.
  const to = indexAtOrAfter(into.atMs, Math.floor(range.toMs) + 1, from, end)
  if (from > offset) {
    for (const column of [into.atMs, ...kind.columnsOf(into)]) column.copyWithin(offset, from, to)
  }
  return to - from
}

function viewOf(block: Uint8Array): DataView {
  return new DataView(block.buffer, block.byteOffset, block.byteLength)
}
