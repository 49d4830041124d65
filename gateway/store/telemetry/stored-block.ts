import type { TelemetryStream } from '#shared/ids.ts'
import { decodeBlock, MAX_BLOCK_RECORDS } from '#shared/telemetry/block.ts'
import { DamagedBlockError } from '#shared/telemetry/damaged-block.ts'
import type { RecordKind, Records } from '#shared/telemetry/records.ts'

/** Row of a block without its records. */
export interface BlockRow {
  blockId: number
  deviceId: number
  stream: TelemetryStream
  firstMs: number
  lastMs: number
  count: number
}

export const BLOCK_COLUMNS = `block_id AS blockId, device_id AS deviceId, stream, first_ms AS firstMs,
  last_ms AS lastMs, count`

/** Decodes a block. Throws `NewerBlockError`, and `DamagedBlockError`, also if its row contradicts it. */
export function decodeStoredBlock<R extends Records>(
  kind: RecordKind<R>,
  row: Pick<BlockRow, 'firstMs' | 'lastMs' | 'count'>,
  bytes: Uint8Array,
): R {
  const records = kind.allocate(Math.min(row.count, MAX_BLOCK_RECORDS))
  const count = decode(() => decodeBlock(kind, bytes, records))
  const { atMs } = records
  const isAsRecorded = count === row.count && atMs[0] === row.firstMs && atMs[count - 1] === row.lastMs
  if (!isAsRecorded) throw new DamagedBlockError('impossible_content', 'its content does not match its row')
  return kind.view(records, 0, count)
}

function decode(decoding: () => number): number {
  try {
    return decoding()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    // block of another stream, or with more records than its row counts
    throw new DamagedBlockError('impossible_content', error.message)
  }
}
