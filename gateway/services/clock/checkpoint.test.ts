import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { createLog } from '#shared/log.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { MINUTE_MS } from '#shared/time.ts'
import { Store } from '#store/store.ts'
import { newFolder } from '#testing/backup-sets.ts'
import { ClockCheckpoint } from './checkpoint.ts'
import { GatewayClock } from './gateway-clock.ts'
import { TimestampTrustLimiter } from './timestamp-trust-limiter.ts'

const NOW_MS = Date.UTC(2026, 4, 1, 12)
const YEAR_MS = 365 * 24 * 60 * MINUTE_MS

/** A checkpoint driven by the test; `isMarked` checks until it is written. */
async function open(t: TestContext, dataDir = newFolder(t), systemMs = NOW_MS) {
  const lines: Record<string, string>[] = []
  const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line)) })
  const store = new Store({ dataDir, readerThreads: 1, writeQueueRows: 1000 }, log)
  await store.start()
  t.after(() => store.stop())
  const system = new FakeClock(systemMs)
  const clock = new GatewayClock({ system, isSynchronized: () => false })
  const brake = new TimestampTrustLimiter(clock)
  const mark = new ClockCheckpoint({ clock, brake, store, log })
  await mark.start()
  t.after(() => mark.stop())
  const isMarked = (atMs: number) =>
    eventually(
      () => {
        mark.check()
        return store.read.clockMark().atMs === atMs
      },
      `the mark at ${new Date(atMs).toISOString()}`,
    )
  return { store, system, clock, brake, mark, lines, isMarked }
}

test('the checkpoint advances once a minute', async (t) => {
  const { store, system, mark, isMarked } = await open(t)
  await isMarked(NOW_MS)
  system.advance(MINUTE_MS - 1)
  mark.check()
  await store.write('recordUsage', [])
  assert.equal(store.read.clockMark().atMs, NOW_MS)
  system.advance(1)
  await isMarked(NOW_MS + MINUTE_MS)
})

test('the checkpoint follows a clock that is set back, without a stop', async (t) => {
  const { system, isMarked } = await open(t)
  await isMarked(NOW_MS)
  system.set(NOW_MS + 10 * YEAR_MS)
  await isMarked(NOW_MS + 10 * YEAR_MS)
  system.set(NOW_MS + 5000)
  await isMarked(NOW_MS + 5000)
})

test('a clock before 2020 does not move the checkpoint back', async (t) => {
  const { system, clock, isMarked } = await open(t)
  await isMarked(NOW_MS)
  system.set(0)
  system.advance(MINUTE_MS)
  await isMarked(NOW_MS + MINUTE_MS)
  assert.equal(clock.isTrusted, false)
})

test('a database without a checkpoint takes the time from its newest received message', async (t) => {
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

/** Creates a database of the version before confirmed times existed, with devices whose newest records are these. */
function addOldDatabase(dataDir: string, markMs: number, newestMs: readonly number[]): void {
  const db = new Database(join(dataDir, 'cartbarn.db'))
  const folder = new URL('../../store/db/migrations/', import.meta.url)
  const files = readdirSync(folder).sort().slice(0, 12)
  for (const file of files) db.exec(readFileSync(new URL(file, folder), 'utf8'))
  db.pragma(`user_version = ${files.length}`)
  db.exec(`UPDATE clock_mark SET at_ms = ${markMs}`)
  for (const [i, atMs] of newestMs.entries())
    db.exec(`INSERT INTO device (device_id, hardware_id, short_id, device_type, mqtt_password_hash, created_at_ms,
      updated_at_ms)
        VALUES (${i + 1}, 'cart-${i}', 'abcdefg${i}', 'teebox', 'x', 1, 1);
      INSERT INTO device_state (device_id, latest, updated_at_ms, gps_last_ms) VALUES (${i + 1}, '{}', 1, ${atMs})`)
  db.close()
}

const OLD_DATABASES = [
  { what: 'nothing in it', markMs: 0, newestMs: [], confirmedMs: NOW_MS, doubt: null },
  { what: 'no telemetry', markMs: NOW_MS - YEAR_MS, newestMs: [], confirmedMs: NOW_MS - YEAR_MS, doubt: 'ahead' },
  {
    what: 'records up to its last stop, three months ago',
    markMs: NOW_MS - YEAR_MS / 4,
    newestMs: [NOW_MS - YEAR_MS / 4],
    confirmedMs: NOW_MS - YEAR_MS / 4,
    doubt: 'ahead',
  },
  {
    what: 'a clock that was already wrong, and a device that it dated',
    markMs: NOW_MS,
    newestMs: [NOW_MS, NOW_MS - 3 * YEAR_MS, NOW_MS - 3 * YEAR_MS - 1],
    confirmedMs: NOW_MS - 3 * YEAR_MS,
    doubt: 'ahead',
  },
  {
    what: 'two devices that reported today, and one that is in the barn',
    markMs: NOW_MS - MINUTE_MS,
    newestMs: [NOW_MS - YEAR_MS, NOW_MS - 2 * MINUTE_MS, NOW_MS - MINUTE_MS],
    confirmedMs: NOW_MS - 2 * MINUTE_MS,
    doubt: null,
  },
]

for (const { what, markMs, newestMs, ...expected } of OLD_DATABASES) {
  test(`a database without a confirmed time, and with ${what}, proves no later time than it shows`, async (t) => {
    const dataDir = newFolder(t)
    addOldDatabase(dataDir, markMs, newestMs)
    const { clock } = await open(t, dataDir)
    assert.deepEqual({ confirmedMs: clock.confirmedMs, doubt: clock.doubt }, expected)
  })
}

test('the next start knows the confirmed time and the reported device times, not the downtime', async (t) => {
  const dataDir = newFolder(t)
  const first = await open(t, dataDir)
  first.brake.reported(NOW_MS - MINUTE_MS, NOW_MS)
  first.system.advance(3 * MINUTE_MS)
  await first.mark.stop()
  await first.store.stop()
  const { clock, brake } = await open(t, dataDir, NOW_MS + YEAR_MS)
  assert.equal(clock.confirmedMs, NOW_MS + 3 * MINUTE_MS)
  assert.deepEqual(brake.saved, { reportedMs: NOW_MS - MINUTE_MS, reportedAgoMs: 3 * MINUTE_MS })
})

test('the log reports a clock fault once with its cause, and its end', async (t) => {
  const { system, mark, lines } = await open(t)
  for (const atMs of [NOW_MS - YEAR_MS, NOW_MS, NOW_MS + YEAR_MS, NOW_MS, 0]) {
    system.set(atMs)
    mark.check()
    mark.check()
  }
  const shown = lines.map(({ level, msg, doubt }) => [level, msg, doubt])
  assert.deepEqual(shown, [
    ['warn', 'clock fault detected', 'set_back'],
    ['info', 'clock fault resolved', undefined],
    ['warn', 'clock fault detected', 'ahead'],
    ['info', 'clock fault resolved', undefined],
    ['warn', 'clock fault detected', 'set_back'],
  ])
  assert.match(lines[2]?.detail ?? '', /shows 2027-05-01T12:00:00.000Z, 365 days later .* POST \/clock\/confirm/)
})
