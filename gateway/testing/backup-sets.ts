import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { backUp } from '#gateway/offline/backups.ts'
import { type Restored, restoreBackup } from '#gateway/offline/restore.ts'
import { FolderPlace } from '#store/backups/folder-place.ts'
import { BlockTable } from './block-table.ts'

export const T0 = Date.UTC(2026, 4, 1)

export function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-sets-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Creates the data folder of a gateway with a device, two positions and a user. */
export function dataFolder(t: TestContext): string {
  const data = newFolder(t)
  const table = new BlockTable(join(data, 'cartbarn.db'))
  table.addBlock(table.newDevice(), 'gps', [T0, T0 + 1000])
  table.connection.db.exec(
    `INSERT INTO user (user_id, name, role, is_active, key_hash, created_at_ms, updated_at_ms, last_reset_ms)
       VALUES ('id-anna', 'anna', 'user', 1, 'k', 1, 1, 1)`,
  )
  table.close()
  return data
}

/** Creates a set with one backup of a gateway; not encrypted without a passphrase. */
export async function newSet(t: TestContext, passphrase?: string): Promise<string> {
  const set = join(newFolder(t), 'set')
  await backUp({ dataDir: dataFolder(t), to: new FolderPlace(set), passphrase, atMs: T0 })
  return set
}

export function copyOf(t: TestContext, set: string): string {
  const copy = join(newFolder(t), 'set')
  cpSync(set, copy, { recursive: true })
  return copy
}

/** Restores a set into an empty data folder. */
export async function restoreSet(
  t: TestContext,
  set: string,
  passphrase?: string,
): Promise<Restored & { dataDir: string }> {
  const dataDir = newFolder(t)
  const restored = await restoreBackup({ dataDir, from: new FolderPlace(set), passphrase, atMs: T0 })
  return { ...restored, dataDir }
}
