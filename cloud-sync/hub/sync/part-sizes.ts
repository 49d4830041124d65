import { AppError } from '#shared/errors.ts'
import type { SyncPart } from '#shared/wire/sync.ts'
import { LIMITS } from './hello.ts'
import type { CheckedPart } from './part-content.ts'

/** The records of a part of a gateway, whatever its bytes: older gateways send as many too. */
const RECORDS_OF_PART = 20_000
/**
 * Records for each byte of a larger part. Parts of carts at work have 0.1 to 0.7, of voltages that change 1.2; only a part
 * of values that never change, at exactly even times, has more.
 */
const RECORDS_OF_BYTE = 64
/** Runs and blocks of a push: each costs more than its records. */
const PIECES = 20_000

/** Why the parts of a push are too many, before anything of them is decoded; undefined for a push that may be taken. */
export function sizeFault(parts: readonly SyncPart[]): string | undefined {
  if (parts.length > LIMITS.parts) return `a push may have at most ${LIMITS.parts} parts`
  const records = parts.reduce((sum, { count }) => sum + count, 0)
  if (records > LIMITS.records) return `a push may have at most ${LIMITS.records} records`
  const dense = parts.find(({ count, data }) => count > mostRecords(data))
  return dense && `a part may have at most ${mostRecords(dense.data)} records in so few bytes`
}

/** Why the pieces of decoded parts are too many. */
export function piecesFault(parts: readonly CheckedPart[]): string | undefined {
  const pieces = parts.reduce((sum, { content }) => sum + piecesOf(content), 0)
  return pieces > PIECES ? `a push may have records of at most ${PIECES} devices` : undefined
}

function piecesOf(content: CheckedPart['content']): number {
  if (content.type === 'runs') return content.runs.length
  return content.type === 'blocks' ? content.blocks.length : 0
}

/** `data` is base64: four characters for three bytes. */
function mostRecords(data: string): number {
  return Math.max(RECORDS_OF_PART, Math.floor((data.length * 3) / 4) * RECORDS_OF_BYTE)
}

/** What makes a gateway send less at once. */
export function tooLarge(fault: string): AppError {
  return new AppError('payload_too_large', 'payload_too_large', fault)
}
