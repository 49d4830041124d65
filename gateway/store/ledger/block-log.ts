import type { Connection } from '../db/connection.ts'

/** Enters a block in the log of what a head office is to get: it holds records that it may not have. */
export function logBlock(connection: Connection, blockId: number): void {
  connection.run('INSERT INTO block_log (block_id) VALUES (?)', blockId)
}

/** Whether a block is still to be sent. Its entry goes with it, by a trigger. */
export function isLogged(connection: Connection, blockId: number): boolean {
  return connection.get('SELECT 1 FROM block_log WHERE block_id = ?', blockId) !== undefined
}
