import { type Connection, openUncheckedReader } from '../db/connection.ts'
import { readBlock } from './unreadable-block.ts'

/**
 * Reads blocks on a connection of its own for a transaction that writes: a damaged page number is as likely as any
 * other wrong bit, and once SQLite detects one, the transaction that did cannot continue. Opened on first use.
 */
export class CommittedBlocks {
  readonly #path: string
  #connection: Connection | undefined

  /** Reads only blocks that were committed before the transaction of `writer`. */
  constructor(writer: Connection) {
    this.#path = writer.db.name
  }

  /** Throws `DamagedBlockError` if the chain of the block's pages is broken. */
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
