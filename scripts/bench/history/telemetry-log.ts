import { join } from 'node:path'
import Database from 'better-sqlite3'
import { decodeBatch } from '#store/telemetry/batch.ts'

/** How many samples of a folder are not in a block yet; the gateway may be running. */
export function countUnsealed(dataDir: string): number {
  const db = new Database(join(dataDir, 'cartbarn.db'), { readonly: true, fileMustExist: true })
  try {
    const rows = db.prepare<[], Uint8Array>('SELECT samples FROM telemetry_log').pluck()
    let count = 0
    for (const samples of rows.iterate()) count += decodeBatch(samples).count
    return count
  } finally {
    db.close()
  }
}
