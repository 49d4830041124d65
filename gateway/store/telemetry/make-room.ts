import type { TelemetryStream } from '#shared/ids.ts'
import { write } from '../db/audit.ts'
import { Gaps } from '../ledger/gaps.ts'
import { decrementRecordCounts } from './block-counts.ts'
import type { DeletedRecords } from './deletion.ts'
import { removeBlock } from './detached-blocks.ts'
import type { WriterTables } from './log-tail.ts'
import { BLOCK_COLUMNS, type BlockRow } from './stored-block.ts'

/** Deletes those blocks that were sent, without reading records, and updates counts. Keep the transaction small. */
export const deleteSentBlocks = write(
  (connection: WriterTables, { blockIds }: { blockIds: readonly number[] }): DeletedRecords => {
    const deleted: DeletedRecords = { gps: 0, battery: 0 }
    const counts = new Map<string, { deviceId: number; stream: TelemetryStream; removed: number }>()
    for (const blockId of blockIds) {
      const row = connection.get<BlockRow>(
        `SELECT ${BLOCK_COLUMNS} FROM stored_block b WHERE block_id = ?
         AND NOT EXISTS (SELECT 1 FROM block_log l WHERE l.block_id = b.block_id)`,
        blockId,
      )
      if (row === undefined) continue
      removeBlock(connection, blockId)
      const { deviceId, stream, count } = row
      const known = counts.get(`${deviceId} ${stream}`) ?? { deviceId, stream, removed: 0 }
      counts.set(`${deviceId} ${stream}`, { ...known, removed: known.removed + count })
    }
    for (const { removed, ...of } of counts.values()) {
      // records of a deleted device, whose deletion is in progress, were no longer counted
      if (decrementRecordCounts(connection, of, removed)) deleted[of.stream] += removed
    }
    return deleted
  },
  { audit: null, changesTelemetry: true },
)

/** Gives up unsent blocks, for `deleteSentBlocks` to delete; notes a gap for each stream. Returns the record count. */
export const dropUnsentBlocks = write(
  (connection: WriterTables, { blockIds, nowMs }: { blockIds: readonly number[]; nowMs: number }): DeletedRecords => {
    const given: DeletedRecords = { gps: 0, battery: 0 }
    const gaps = new Gaps(connection)
    for (const blockId of blockIds) {
      // has been sent since it was chosen, or is gone
      if (connection.run('DELETE FROM block_log WHERE block_id = ?', blockId) === 0) continue
      const row = connection.get<BlockRow>(`SELECT ${BLOCK_COLUMNS} FROM stored_block WHERE block_id = ?`, blockId)
      if (row === undefined) continue
      gaps.add(row)
      given[row.stream] += row.count
    }
    gaps.write('disk', nowMs)
    return given
  },
  { audit: null, changesTelemetry: true },
)
