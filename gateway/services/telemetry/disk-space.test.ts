import assert from 'node:assert/strict'
import { mkdirSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { newFolder } from '#testing/backup-sets.ts'
import { folderSpace } from './disk-space.ts'

const LOG_BYTES = 16 << 20

test('all files of the folder count but the database, whose log counts as long as it may get', async (t) => {
  const folder = newFolder(t)
  const put = (name: string, bytes: number) => writeFileSync(join(folder, name), Buffer.alloc(bytes))
  const { otherBytes, volumeBytes, volumeFreeBytes } = await folderSpace(folder)
  assert.equal(otherBytes, LOG_BYTES)
  const { blocks, bsize } = statfsSync(folder)
  assert.equal(volumeBytes, blocks * bsize)
  assert.ok(volumeFreeBytes > 0 && volumeFreeBytes < volumeBytes)
  put('cartbarn.db', 1_000_000)
  put('cartbarn.db-wal', 1_000_000)
  put('sync.json', 100)
  mkdirSync(join(folder, 'backups'))
  put('backups/yesterday.db', 5000)
  assert.equal((await folderSpace(folder)).otherBytes, LOG_BYTES + 5100)
  put('cartbarn.db-wal', LOG_BYTES + 7)
  assert.equal((await folderSpace(folder)).otherBytes, LOG_BYTES + 5107)
})
