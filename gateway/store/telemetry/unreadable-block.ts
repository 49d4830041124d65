import { DamagedBlockError, type DamageReason, NewerBlockError } from '#shared/telemetry/damaged-block.ts'
import type { Connection } from '../db/connection.ts'
import { requireBroken } from '../db/readable-disk.ts'

/** Block that is damaged, or that a newer program wrote. */
export interface UnreadableBlock {
  blockId: number
  reason: DamageReason | 'newer_version'
}

export function isUnreadable(error: unknown): error is DamagedBlockError | NewerBlockError {
  return error instanceof DamagedBlockError || error instanceof NewerBlockError
}

export function unreadableReason(error: DamagedBlockError | NewerBlockError): UnreadableBlock['reason'] {
  return error instanceof DamagedBlockError ? error.reason : 'newer_version'
}

/**
 * Bytes of a block, if it exists. Throws `DamagedBlockError` if the chain of its pages is broken: a page number is as
 * likely to be damaged as any other bit. A transaction that writes cannot continue after that, one that reads can.
 */
export function readBlock(connection: Connection, blockId: number): Uint8Array | 'gone' {
  try {
    const row = connection.get<{ records: Uint8Array }>('SELECT records FROM stored_block WHERE block_id = ?', blockId)
    return row?.records ?? 'gone'
  } catch (error) {
    requireBroken(error, connection)
    readBlockRow(connection, blockId)
    throw new DamagedBlockError('wrong_length', 'its pages, or the links between them, are damaged')
  }
}

/** Record count in the row of a block. Throws `DamagedBlockError` if the page of the row cannot be read. */
export function readBlockRow(connection: Connection, blockId: number): { count: number } | 'gone' {
  try {
    return connection.get<{ count: number }>('SELECT count FROM stored_block WHERE block_id = ?', blockId) ?? 'gone'
  } catch (error) {
    requireBroken(error, connection)
    throw new DamagedBlockError('unreadable_page', 'the page of its row is damaged')
  }
}
