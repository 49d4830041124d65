import type { BackupManifest } from '#shared/wire/backups.ts'
import { BackupFault, UnreachableFault } from './backup-fault.ts'
import type { BackupSet, Snapshot } from './backup-set.ts'
import { decodeRows } from './row-codec.ts'

interface Check {
  /** True if a chunk must be read; for the others, only their existence is checked. */
  readonly isDue: (id: string) => boolean
  readonly rest: (tookMs: number) => Promise<void>
}

/** Reads a backup like a restore and counts rows. Removes wrong chunks, to be written again. Throws `BackupFault`. */
export async function checkBackup(set: BackupSet, snapshot: Snapshot, check: Check): Promise<BackupManifest> {
  const manifest = await set.readManifest(snapshot)
  const there = await set.blobs()
  const damaged = new Set<string>()
  for (const { columns, bytes, chunks } of manifest.tables) {
    for (const { id, rows } of chunks) {
      const beganMs = performance.now()
      if (!there.has(id)) damaged.add(id)
      else if (check.isDue(id) && !(await isWhole(set, { id, rows, columns: columns.length, mostBytes: bytes }))) {
        await set.removeBlob(id)
        damaged.add(id)
      }
      await check.rest(performance.now() - beganMs)
    }
  }
  if (damaged.size > 0)
    throw new BackupFault(
      `${set.place.shown}: ${damaged.size} chunks are missing or damaged; the next backup writes them again`,
    )
  return manifest
}

interface ExpectedPart {
  readonly id: string
  readonly rows: number
  readonly columns: number
  readonly mostBytes: number
}

async function isWhole(set: BackupSet, { id, rows, columns, mostBytes }: ExpectedPart): Promise<boolean> {
  try {
    let found = 0
    for (const _ of decodeRows(await set.readBlob(id, mostBytes), columns)) found++
    return found === rows
  } catch (error) {
    if (error instanceof UnreachableFault) throw error
    if (error instanceof BackupFault || error instanceof RangeError) return false
    throw error
  }
}
