import { readDatabase } from '#scripts/rig/read-database.ts'
import { decodeBatch } from '#store/telemetry/batch.ts'

/** Number of samples in a folder that are not in a block yet; the gateway may be running. */
export function countUnsealed(dataDir: string): number {
  return readDatabase(dataDir, (db) => {
    const rows = db.prepare<[], Uint8Array>('SELECT samples FROM telemetry_log').pluck()
    let count = 0
    for (const samples of rows.iterate()) count += decodeBatch(samples).count
    return count
  })
}
