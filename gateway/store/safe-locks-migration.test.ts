import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { Connection } from './db/connection.ts'
import { migrate } from './migrate.ts'
import { entityBody } from './replication/entities.ts'
import { closedDays, saveClosedDay } from './tables/closing.ts'
import { autoLockTimes, findCommand, insertCommand } from './tables/commands.ts'
import { findIdempotencyKey } from './tables/idempotency-keys.ts'

const MIGRATIONS = new URL('./db/migrations/', import.meta.url)
const NOW_MS = Date.UTC(2026, 4, 1)

/** Database of the previous schema with commands in it, migrated to the current one. */
function upgraded(t: TestContext): Connection {
  const connection = new Connection(new Database(':memory:'))
  t.after(() => connection.close())
  const earlier = readdirSync(MIGRATIONS)
    .sort()
    .filter((name) => Number.parseInt(name, 10) < 21)
  for (const name of earlier) connection.db.exec(readFileSync(new URL(name, MIGRATIONS), 'utf8'))
  connection.db.pragma(`user_version = ${earlier.length}`)
  connection.db.exec(`
    INSERT INTO command (command_id, hardware_id, short_id, device_type, command, params, ttl_s, status, requested_by,
      created_at_ms) VALUES ('old', 'cart-1', 's1', 'teebox', 'lock', '{}', 60, 'pending', 'u', ${NOW_MS});
    INSERT INTO idempotency_key (user_id, key, fingerprint, command_ids, created_at_ms)
      VALUES ('u', 'k', 'f', '["old"]', ${NOW_MS});`)
  migrate(connection)
  return connection
}

test('commands from before the upgrade are not forced, and their entities stay unchanged', (t) => {
  const connection = upgraded(t)
  const old = findCommand(connection, 'old')
  assert.equal(old?.forced, null)
  assert.ok(!('forced' in (entityBody(connection, 'command', 'old') ?? {})))
  assert.ok(old !== undefined)
  insertCommand(connection, { ...old, commandId: 'new' })
  insertCommand(connection, { ...old, commandId: 'staff', forced: 'locating' })
  insertCommand(connection, { ...old, commandId: 'admin', forced: 'all' })
  const forced = ['new', 'staff', 'admin'].map((id) => entityBody(connection, 'command', id)?.forced)
  assert.deepEqual(forced, [undefined, true, true])
})

test('a repeated request after the upgrade finds its commands and no rejections', (t) => {
  const known = findIdempotencyKey(upgraded(t), 'u', 'k', NOW_MS + 1)
  assert.deepEqual([known?.commandIds, known?.outcomeJson], [['old'], null])
})

test('the newest automatic lock counts, whatever its clock showed', (t) => {
  const connection = upgraded(t)
  const old = findCommand(connection, 'old')
  assert.ok(old !== undefined)
  const own = { ...old, requestedBy: 'auto-lock' }
  insertCommand(connection, { ...own, commandId: 'a', createdAtMs: NOW_MS + 9_000 })
  insertCommand(connection, { ...own, commandId: 'b', createdAtMs: NOW_MS + 1_000 })
  insertCommand(connection, { ...own, commandId: 'c', hardwareId: 'cart-2' })
  insertCommand(connection, { ...old, commandId: 'd', createdAtMs: NOW_MS + 10_000 })
  assert.deepEqual(
    autoLockTimes(connection).map(({ hardwareId, atMs }) => [hardwareId, atMs]),
    [
      ['cart-1', NOW_MS + 1_000],
      ['cart-2', NOW_MS],
    ],
  )
  const plan = connection.all<{ detail: string }>(
    `EXPLAIN QUERY PLAN SELECT hardware_id, created_at_ms, max(seq) FROM command
     WHERE requested_by = 'auto-lock' GROUP BY hardware_id ORDER BY hardware_id`,
  )
  assert.match(plan[0]?.detail ?? '', /COVERING INDEX command_by_auto_lock/)
})

test('closed days are kept for some weeks, each as first closed', (t) => {
  const connection = upgraded(t)
  for (let day = 0; day < 50; day++)
    saveClosedDay(connection, { date: `d-${day}`, closedAtMs: NOW_MS + day, waiting: ['17'] })
  saveClosedDay(connection, { date: 'd-49', closedAtMs: NOW_MS, waiting: [] })
  const days = closedDays(connection)
  assert.equal(days.length, 40)
  assert.deepEqual(days[0], { date: 'd-49', closedAtMs: NOW_MS + 49, waiting: [] })
})
