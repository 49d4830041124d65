import type { BackupSet } from './backup-set.ts'

/**
 * Deletes all but the newest `keep` backups, and the parts that none of the others needs. Only behind a backup that is
 * whole, and while no other is being written. Returns how many backups were deleted.
 */
export async function pruneBackups(set: BackupSet, keep: number): Promise<number> {
  const all = await set.snapshots()
  const kept = all.slice(-keep)
  const gone = all.slice(0, -keep)
  if (gone.length === 0) return 0
  // all of them are read before anything goes: a part of one that cannot be read would be taken for one of none
  const needed = new Set<string>()
  for (const snapshot of kept) {
    const { tables } = await set.readManifest(snapshot)
    for (const { chunks } of tables) for (const { id } of chunks) needed.add(id)
  }
  // killed between the two, parts are left over that the next time takes
  for (const { name } of gone) await set.place.remove(name)
  for (const id of (await set.blobs()).keys()) if (!needed.has(id)) await set.removeBlob(id)
  return gone.length
}
