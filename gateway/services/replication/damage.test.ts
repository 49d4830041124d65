import assert from 'node:assert/strict'
import { closeSync, openSync, writeSync } from 'node:fs'
import { test } from 'node:test'
import { openSyncSource } from '#testing/open-sync-source.ts'
import { appendToLog, registerDevice } from '#testing/telemetry-tables.ts'

const NOON_MS = Date.UTC(2026, 4, 1, 12)
const ROOM = { bytes: 262_144, rows: 20_000 }
const { signal } = new AbortController()

test('blocks on a damaged page are counted as waiting, and other streams are read', async (t) => {
  const { source, other, seal } = await openSyncSource(t)
  for (let deviceId = 1; deviceId <= 40; deviceId++) {
    registerDevice(other, deviceId)
    const samples = Array.from({ length: 100 }, (_, s) => ({
      deviceId,
      atMs: NOON_MS + s * 1000,
      streams: 'gps' as const,
      value: 1 + s,
    }))
    appendToLog(other, samples)
  }
  seal()
  other.db.pragma('wal_checkpoint(TRUNCATE)')
  const sql = "SELECT pageno FROM dbstat WHERE name = 'telemetry_block' AND pagetype = 'leaf'"
  const pages = other.all<{ pageno: number }>(sql)
  assert.ok(pages.length > 0)
  const { pageSize: pageBytes } = other.get<{ pageSize: number }>('PRAGMA page_size') ?? { pageSize: 0 }
  const file = openSync(other.db.name, 'r+')
  for (const { pageno } of pages) writeSync(file, Buffer.alloc(pageBytes, 0xa5), 0, pageBytes, (pageno - 1) * pageBytes)
  closeSync(file)
  await assert.rejects(source.nextPart('history', 0, ROOM, signal), { code: 'store_damaged' })
  const { history, entities } = await source.backlog(signal)
  assert.ok(history.rows >= 40)
  assert.ok(entities.rows >= 40)
  assert.ok((await source.nextPart('entities', 0, ROOM, signal)) !== null)
})
