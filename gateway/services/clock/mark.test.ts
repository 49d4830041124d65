import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { createLog } from '#shared/log.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { MINUTE_MS } from '#shared/time.ts'
import { Store } from '#store/store.ts'
import { GatewayClock } from './gateway-clock.ts'
import { ClockMark } from './mark.ts'

const log = createLog('silent')
const NOW_MS = Date.UTC(2026, 4, 1, 12)
const YEAR_MS = 365 * 24 * 60 * MINUTE_MS

function newFolder(t: TestContext): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-clock-'))
  t.after(() => rmSync(dataDir, { recursive: true }))
  return dataDir
}

/** A mark that is looked after by the test; `isMarked` looks until it is written. */
async function open(t: TestContext, dataDir = newFolder(t)) {
  const store = new Store({ dataDir, readerThreads: 1, writeQueueRows: 1000 }, log)
  await store.start()
  t.after(() => store.stop())
  const system = new FakeClock(NOW_MS)
  const clock = new GatewayClock({ system, isSynchronized: () => false })
  const mark = new ClockMark({ clock, store, log })
  await mark.start()
  t.after(() => mark.stop())
  const isMarked = (atMs: number) =>
    eventually(
      () => {
        mark.look()
        return store.read.clockMark() === atMs
      },
      `the mark at ${new Date(atMs).toISOString()}`,
    )
  return { store, system, clock, mark, isMarked }
}

test('the mark moves once a minute', async (t) => {
  const { store, system, mark, isMarked } = await open(t)
  await isMarked(NOW_MS)
  system.advance(MINUTE_MS - 1)
  mark.look()
  await store.write('recordUsage', [])
  assert.equal(store.read.clockMark(), NOW_MS)
  system.advance(1)
  await isMarked(NOW_MS + MINUTE_MS)
})

test('the mark goes back with a clock that is set back, without a stop', async (t) => {
  const { system, isMarked } = await open(t)
  await isMarked(NOW_MS)
  system.set(NOW_MS + 10 * YEAR_MS)
  await isMarked(NOW_MS + 10 * YEAR_MS)
  system.set(NOW_MS + 5000)
  await isMarked(NOW_MS + 5000)
})

test('a clock before 2020 does not move the mark back', async (t) => {
  const { system, clock, isMarked } = await open(t)
  await isMarked(NOW_MS)
  system.set(0)
  system.advance(MINUTE_MS)
  await isMarked(NOW_MS + MINUTE_MS)
  assert.equal(clock.isTrusted, false)
})

test('a database from before there was a mark knows the time by what it received', async (t) => {
  const dataDir = newFolder(t)
  const db = new Database(join(dataDir, 'cartbarn.db'))
  db.exec(readFileSync(new URL('../../store/db/migrations/001-foundation.sql', import.meta.url), 'utf8'))
  db.pragma('user_version = 1')
  db.exec(`INSERT INTO device VALUES (1, 'cart-1', 'abcdefgh', 'teebox', NULL, NULL, 'x', 1, 1);
    INSERT INTO device_state (device_id, latest, updated_at_ms) VALUES (1, '{}', ${NOW_MS + YEAR_MS})`)
  db.close()
  const { clock } = await open(t, dataDir)
  assert.equal(clock.isTrusted, false)
  assert.equal(clock.nowMs(), NOW_MS + YEAR_MS + 1)
})
