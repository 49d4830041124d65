import type { BackupTable } from '#shared/wire/backups.ts'
import { BackupFault, UnreachableFault } from './backup-fault.ts'
import type { BackupSet } from './backup-set.ts'

export interface KeptBackup {
  readonly number: number
  readonly atMs: number
  readonly rows: number
  readonly bytes: number
}

/**
 * Deletes all except the newest `keep` backups, and unused chunks. Must only be called after a complete backup, and
 * while no other is being written. Returns the remaining backups, oldest first, and the number of deleted ones.
 */
export async function pruneBackups(
  set: BackupSet,
  keep: number,
  bytesOf: (tables: readonly BackupTable[]) => number,
): Promise<{ stay: KeptBackup[]; removed: number }> {
  const all = await set.snapshots()
  const kept = all.slice(-keep)
  const gone = all.slice(0, -keep)
  // reads all manifests before deleting anything: chunks of an unreadable one would seem unused
  const needed = new Set<string>()
  const stay: KeptBackup[] = []
  for (const snapshot of kept) {
    const manifest = await set.readManifest(snapshot).catch((error: unknown) => {
      if (gone.length > 0 || !(error instanceof BackupFault) || error instanceof UnreachableFault) throw error
    })
    if (manifest === undefined) continue
    const { number, atMs, tables } = manifest
    stay.push({
      number,
      atMs,
      bytes: bytesOf(tables),
      rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    })
    for (const { chunks } of tables) for (const { id } of chunks) needed.add(id)
  }
  if (gone.length === 0) return { stay, removed: 0 }
  // after a kill between the two, unused chunks remain, which the next call deletes
  for (const { name } of gone) await set.place.remove(name)
  for (const id of (await set.blobs()).keys()) if (!needed.has(id)) await set.removeBlob(id)
  return { stay, removed: gone.length }
}
