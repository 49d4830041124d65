import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { createLog } from '#shared/log.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { databasePath } from '#store/db/files.ts'
import { Store } from '#store/store.ts'
import { newFolder } from '#testing/backup-sets.ts'
import { BlockTable } from '#testing/block-table.ts'
import { silently } from '#testing/silently.ts'
import { DatabaseCheck } from './database-check.ts'

const NIGHT_MS = new Date(2026, 4, 2, 3, 30).getTime()
const EVENTS = 2000

/** Starts a store with lock events and a block; `harm` receives its file between a stop and the start. */
async function startHarmed(t: TestContext, harm: (file: Buffer) => void) {
  const dataDir = newFolder(t)
  const path = databasePath(dataDir)
  const open = async () => {
    const store = new Store({ dataDir, readerThreads: 1, writeQueueRows: 1000 }, createLog('silent'))
    await store.start()
    return store
  }
  const first = await open()
  // while it is open: after a stop the writes would count as those of another program
  fill(path)
  await first.stop()
  const file = readFileSync(path)
  harm(file)
  silently(path, () => writeFileSync(path, file))
  const store = await open()
  t.after(() => store.stop())
  const clock = new FakeClock(NIGHT_MS)
  const check = new DatabaseCheck({ store, clock, log: createLog('silent') })
  return { store, check, clock }
}

function fill(path: string): void {
  const table = new BlockTable(path)
  const deviceId = table.newDevice()
  const times = Array.from({ length: 2000 }, (_, i) => i * 1000 + ((i * 7919) % 997))
  table.addBlock(deviceId, 'gps', times)
  table.close()
  const db = new Database(path)
  const insert = db.prepare(
    `INSERT INTO lock_event (event_id, hardware_id, identity, event, source, at_ms)
     VALUES (?, 'cart-1', ?, 'unlock', 'rfid', ?)`,
  )
  db.transaction(() => {
    for (let i = 0; i < EVENTS; i++) insert.run(`event-${i}`, `identity-${i}`, i)
  })()
  db.close()
}

/** Returns the offset of a page that contains only data of the block. */
function pageOfBlock(file: Buffer): number {
  for (let at = 0; at < file.length; at += 4096) {
    const page = file.subarray(at, at + 4096)
    // an overflow page begins with the number of the next one, here a small one, and the block has no zeros
    if (page.readUInt32BE(0) > 0 && page.readUInt32BE(0) < 1000 && page[4] !== 0 && !page.includes('cart')) {
      if (new Set(page).size > 200) return at + 2000
    }
  }
  throw new Error('the block has no page of its own')
}

/** Flips a bit in each of the last two bytes of `text` at its first occurrence: a single one would be repaired. */
function flipAfter(file: Buffer, text: string): void {
  flipTwo(file, file.indexOf(text) + text.length - 2)
}

function flipTwo(file: Buffer, at: number): void {
  for (const one of [at, at + 1]) file[one] = (file[one] ?? 0) ^ 8
}

test('the check of an intact database records only its time', async (t) => {
  const { store, check } = await startHarmed(t, () => undefined)
  assert.equal(check.last, undefined)
  await check.run(true)
  assert.deepEqual(check.last, { atMs: NIGHT_MS, damaged: [] })
  assert.deepEqual(store.damage.all, [])
})

test('the check names the table of a row in which two bits flipped', async (t) => {
  const { store, check } = await startHarmed(t, (file) => flipAfter(file, 'identity-1234unlockrfi'))
  await check.run(false)
  assert.deepEqual(check.last?.damaged, ['lock_event'])
  const [finding] = store.damage.all
  assert.deepEqual([finding?.place, finding?.outcome, finding?.foundAtMs], ['lock_event', 'unreadable', NIGHT_MS])
  assert.match(finding?.detail ?? '', /npm run repair/)
})

test('the full-file check names a damaged page that the table check does not cover', async (t) => {
  let page = 0
  const { store, check } = await startHarmed(t, (file) => {
    const at = pageOfBlock(file)
    page = Math.floor(at / 4096) + 1
    flipTwo(file, at)
  })
  await check.run(false)
  assert.deepEqual(check.last?.damaged, [])
  await check.run(true)
  assert.deepEqual(check.last?.damaged, ['file'])
  const [finding] = store.damage.all
  assert.equal(finding?.place, 'file')
  assert.match(finding?.detail ?? '', new RegExp(`\\(${page}\\)`))
})

for (const [how, read] of [
  [
    'in a reader thread',
    (store: Store) => store.readers.run('startOfNewest', { deviceId: 1, count: 1 }, { owner: 'test' }),
  ],
  ['on the main thread', async (store: Store) => store.read.latestGps(1)],
] as const) {
  test(`a wrong page checksum is reported on a read ${how}; each block is checked by its own sum`, async (t) => {
    const { store } = await startHarmed(t, (file) => {
      flipTwo(file, pageOfBlock(file))
    })
    const unreadable = new Promise((resolve) => store.on('unreadable', resolve))
    await read(store)
    assert.deepEqual(await unreadable, [{ blockId: 1, reason: 'wrong_checksum' }])
    const [finding] = store.damage.all
    assert.deepEqual([finding?.place, finding?.outcome], ['telemetry', 'set_aside'])
  })
}
