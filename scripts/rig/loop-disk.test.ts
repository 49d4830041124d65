import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { LoopDisk } from './loop-disk.ts'

test('a separate disk counts the bytes written to it and leaves no trace', async (t) => {
  const disk = await LoopDisk.create()
  if (typeof disk === 'string') return t.skip(disk)
  const before = disk.use()
  writeFileSync(join(disk.folder, 'file'), Buffer.alloc(1_000_000, 1), { flush: true })
  const after = disk.use()
  assert.ok(after.writtenBytes - before.writtenBytes >= 1_000_000)
  assert.ok(after.flushes > before.flushes || Number.isNaN(after.flushes))
  await disk.remove()
  assert.equal(existsSync(dirname(disk.folder)), false)
})
