import { type Connection, openUncheckedReader } from '../db/connection.ts'
import { readBlock } from './unreadable-block.ts'

/**
 * Reads blocks for a transaction that writes, on a connection of its own: a page number is as likely to be damaged as
 * any other bit, and once SQLite has come upon one, the transaction that did cannot go on. Opened when it is needed.
 */
export class CommittedBlocks {
  readonly #path: string
  #connection: Connection | undefined

  /** For blocks that were committed before the transaction of `writer`. */
  constructor(writer: Connection) {
    this.#path = writer.db.name
  }

  /** Throws `DamagedBlockError` when the pages of the block are not linked any more. */
  read(blockId: number): Uint8Array {
    this.#connection ??= openUncheckedReader(this.#path)
    const block = readBlock(this.#connection, blockId)
    if (block === 'gone') throw new Error(`block ${blockId} is gone`)
    return block
  }

  close(): void {
    this.#connection?.close()
  }
}
