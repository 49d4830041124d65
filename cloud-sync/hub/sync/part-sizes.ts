import { RECORD_BYTES, ROW_BYTES } from '#hub/store/stored-bytes.ts'
import { AppError } from '#shared/errors.ts'
import { MAX_BLOCK_RECORDS } from '#shared/telemetry/block.ts'
import type { SyncPart } from '#shared/wire/replication/sync.ts'
import { LIMITS } from './hello.ts'
import type { CheckedPart } from './part-content.ts'

/** Records in a part of a gateway, whatever its bytes: older gateways also send as many. */
const RECORDS_OF_PART = 20_000
/**
 * Records per byte of a larger part. Parts of working carts have 0.1 to 0.7, of changing voltages 1.2; only a part with
 * constant values at exactly even times has more.
 */
const RECORDS_OF_BYTE = 64
/** Maximum number of runs and blocks in a push: each costs more than its records. */
const PIECES = 20_000

/** Returns why the parts of a push are too large, without decoding them; undefined for an acceptable push. */
export function sizeFault(parts: readonly SyncPart[]): string | undefined {
  if (parts.length > LIMITS.parts) return `a push may have at most ${LIMITS.parts} parts`
  const records = parts.reduce((sum, { count }) => sum + count, 0)
  if (records > LIMITS.records) return `a push may have at most ${LIMITS.records} records`
  const dense = parts.find(({ count, data }) => count > mostRecords(data))
  return dense && `a part may have at most ${mostRecords(dense.data)} records in so few bytes`
}

/** Returns the reason why decoded parts have too many chunks; undefined if they do not. */
export function chunksFault(parts: readonly CheckedPart[]): string | undefined {
  const pieces = parts.reduce((sum, { content }) => sum + piecesOf(content), 0)
  return pieces > PIECES ? `a push may have records of at most ${PIECES} devices` : undefined
}

function piecesOf(content: CheckedPart['content']): number {
  if (content.type === 'runs') return content.runs.length
  return content.type === 'blocks' ? content.blocks.length : 0
}

/** A note may include a gap or an erasure, and a resent erasure may cut a block of each kind in two. */
const RESENT_NOTE_BYTES = 32_768

/** Returns the maximum number of bytes that the hub stores for these parts, except for unusual texts. */
export function keptBytes(parts: readonly CheckedPart[]): number {
  return parts.reduce((sum, part) => sum + keptOf(part), 0)
}

function keptOf({ part: { stream, is_resend }, data, content }: CheckedPart): number {
  if (content.type === 'unreadable') return data.length + ROW_BYTES
  if (content.type === 'rows') {
    const rowBytes = stream === 'notes' ? 2 * ROW_BYTES + (is_resend === true ? RESENT_NOTE_BYTES : 0) : ROW_BYTES
    return data.length + content.rows.length * rowBytes
  }
  const pieces = content.type === 'runs' ? content.runs : content.blocks
  let records = 0
  let blocks = 1
  for (const {
    records: { atMs },
  } of pieces) {
    records += atMs.length
    blocks += Math.ceil(atMs.length / MAX_BLOCK_RECORDS)
  }
  return Math.max(data.length, records * RECORD_BYTES) + blocks * ROW_BYTES
}

/** `data` is base64: four characters for three bytes. */
function mostRecords(data: string): number {
  return Math.max(RECORDS_OF_PART, Math.floor((data.length * 3) / 4) * RECORDS_OF_BYTE)
}

/** Creates the error that makes a gateway send smaller requests. */
export function tooLarge(fault: string): AppError {
  return new AppError('payload_too_large', 'payload_too_large', fault)
}
