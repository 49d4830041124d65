import type { ReadBlock } from '#hub/store/telemetry/device-telemetry.ts'
import { describeError, InvalidRequestError } from '#shared/errors.ts'
import { partHash } from '#shared/sync-hash.ts'
import { decodeBlock, MAX_BLOCK_RECORDS } from '#shared/telemetry/block.ts'
import { decodeBlocks } from '#shared/telemetry/blocks.ts'
import { DamagedBlockError, NewerBlockError } from '#shared/telemetry/damaged-block.ts'
import { BATTERY, GPS, type RecordKind, type Records } from '#shared/telemetry/records.ts'
import { decodeRuns, type TelemetryRun } from '#shared/telemetry/runs.ts'
import type { SyncPart } from '#shared/wire/replication/sync.ts'

export type PartContent =
  | { readonly type: 'rows'; readonly rows: readonly unknown[] }
  | { readonly type: 'runs'; readonly runs: readonly TelemetryRun[] }
  | { readonly type: 'blocks'; readonly blocks: readonly ReadBlock[] }
  /** The part is undamaged, but this hub cannot read it. */
  | { readonly type: 'unreadable'; readonly reason: string }

/** A part that arrived undamaged. */
export interface CheckedPart {
  readonly part: SyncPart
  readonly data: Uint8Array
  readonly content: PartContent
}

/** Reads a part. Throws `invalid_body`, `invalid_data`, `invalid_hash` or `wrong_count` if damaged in transit. */
export function checkPart(part: SyncPart): CheckedPart {
  const { stream, from, to, is_resend } = part
  if (is_resend === true ? from !== 0 || to !== 0 : to <= from) {
    throw new InvalidRequestError('invalid_body', `a part of ${stream} cannot go from ${from} to ${to}`)
  }
  const data = Buffer.from(part.data, 'base64')
  if (data.toString('base64') !== part.data) {
    throw new InvalidRequestError('invalid_data', `the data of ${stream} is not base64`)
  }
  if (partHash(part, data) !== part.hash) {
    throw new InvalidRequestError('invalid_hash', `the hash of the ${stream} part up to ${to} does not match its data`)
  }
  const content = readContent(part, data)
  const count = countOf(content)
  if (count !== undefined && count !== part.count) {
    throw new InvalidRequestError('wrong_count', `the ${stream} part has ${count} rows, but its count is ${part.count}`)
  }
  return { part, data, content }
}

function readContent({ stream, encoding, count }: SyncPart, data: Buffer): PartContent {
  const isTelemetry = stream === 'telemetry' || stream === 'history'
  // a part without rows has no data, in any encoding
  if (data.length === 0 && count === 0) return { type: 'rows', rows: [] }
  try {
    if (encoding === 'rows-1' && !isTelemetry) return readRows(data)
    if (encoding === 'runs-1' && isTelemetry) return { type: 'runs', runs: decodeRuns(data, count) }
    if (encoding === 'blocks-1' && isTelemetry) return { type: 'blocks', blocks: readBlocks(data) }
    return { type: 'unreadable', reason: `${stream} in the encoding ${encoding}` }
  } catch (error) {
    if (error instanceof NewerBlockError) return { type: 'unreadable', reason: describeError(error) }
    if (error instanceof DamagedBlockError || error instanceof RangeError || error instanceof SyntaxError) {
      return {
        type: 'unreadable',
        reason: `${describeError(error)}; or of a version that this hub does not know`,
      }
    }
    throw error
  }
}

function readRows(data: Buffer): PartContent {
  const rows: unknown = JSON.parse(data.toString('utf8'))
  return Array.isArray(rows) ? { type: 'rows', rows } : { type: 'unreadable', reason: 'no list of rows' }
}

function readBlocks(data: Buffer): ReadBlock[] {
  return decodeBlocks(data).map(({ hardwareId, block, header }): ReadBlock => {
    return header.kind === 'gps'
      ? { hardwareId, block, stream: 'gps', records: recordsOf(GPS, block) }
      : { hardwareId, block, stream: 'battery', records: recordsOf(BATTERY, block) }
  })
}

function recordsOf<R extends Records>(kind: RecordKind<R>, block: Uint8Array): R {
  const records = kind.allocate(MAX_BLOCK_RECORDS)
  const view = kind.view(records, 0, decodeBlock(kind, block, records))
  // copies of the exact length: the originals reserve room for a full block as long as the part is in memory
  const copy = kind.allocate(view.atMs.length)
  copy.atMs.set(view.atMs)
  for (const [i, column] of kind.columnsOf(view).entries()) kind.columnsOf(copy)[i]?.set(column)
  return copy
}

function countOf(content: PartContent): number | undefined {
  if (content.type === 'rows') return content.rows.length
  if (content.type === 'unreadable') return undefined
  const pieces = content.type === 'runs' ? content.runs : content.blocks
  return pieces.reduce((sum, { records }) => sum + records.atMs.length, 0)
}
