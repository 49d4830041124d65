import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { Connection } from './db/connection.ts'
import { migrate } from './migrate.ts'
import { eventsAfter } from './replication/events.ts'
import { isLockEventStored, listLockEvents } from './tables/lock-events.ts'

const MIGRATIONS = new URL('./db/migrations/', import.meta.url)
const LISTED = { hardwareId: 'cart-1', order: 'asc', limit: 10, offset: 0 } as const

/** Database as schema 8 left it: two events of a cart that was deleted and registered again, and three events since. */
function schema8(): Connection {
  const connection = new Connection(new Database(':memory:'))
  for (const name of readdirSync(MIGRATIONS).sort().slice(0, 8))
    connection.db.exec(readFileSync(new URL(name, MIGRATIONS), 'utf8'))
  connection.db.pragma('user_version = 8')
  connection.run(
    `INSERT INTO device (hardware_id, short_id, device_type, mqtt_password_hash, created_at_ms, updated_at_ms)
     VALUES ('cart-1', 'again001', 'teebox', 'x', 5000, 5000)`,
  )
  for (const [i, [identity, atMs]] of [
    ['eid:1', 1000],
    ['at:2000/lock/key/', 2000],
    ['eid:7', 6000],
    ['at:7000/lock/key/', 7000],
    ['eid:a%b', 8000],
  ].entries()) {
    connection.run(
      `INSERT INTO lock_event (event_id, hardware_id, identity, event, source, at_ms)
       VALUES (?, 'cart-1', ?, 'lock', 'key', ?)`,
      `e${i}`,
      String(identity),
      Number(atMs),
    )
  }
  return connection
}

test('an upgrade leaves events to the registration they fall into, and knows them when they come again', () => {
  const connection = schema8()
  const before = connection.all('SELECT event_id, hardware_id, event, source, at_ms FROM lock_event ORDER BY seq')
  migrate(connection)
  const registration = { shortId: 'again001', sinceMs: 5000 }
  const ids = (rows: { eventId: string }[] | null) => rows?.map(({ eventId }) => eventId)
  assert.deepEqual(ids(listLockEvents({ connection }, LISTED)), ['e0', 'e1', 'e2', 'e3', 'e4'])
  assert.deepEqual(ids(listLockEvents({ connection }, { ...LISTED, registration })), ['e2', 'e3', 'e4'])
  const isKnown = (identity: string) =>
    isLockEventStored(connection, { hardwareId: 'cart-1', shortId: 'again001', identity })
  for (const identity of ['eid:7/lock/6000', 'at:7000/lock/key/', 'eid:a%b/lock/8000'])
    assert.equal(isKnown(identity), true, identity)
  for (const identity of ['eid:1/lock/1000', 'at:2000/lock/key/', 'eid:7/unlock/6000'])
    assert.equal(isKnown(identity), false, identity)
  assert.deepEqual(
    connection.all('SELECT event_id, hardware_id, event, source, at_ms FROM lock_event ORDER BY seq'),
    before,
  )
})

test('a head office gets rows from before an upgrade as it got them, and those since with their registration', () => {
  const connection = schema8()
  migrate(connection)
  connection.run(
    `INSERT INTO lock_event (event_id, hardware_id, short_id, identity, event, source, at_ms)
     VALUES ('e5', 'cart-1', 'again001', 'again001 eid:9/lock/', 'lock', 'key', 9000)`,
  )
  const texts = eventsAfter(connection, 'lock_events', 3, 10).map(({ text }) => text)
  const row = (id: string, atMs: number) =>
    `{"event_id":"${id}","hardware_id":"cart-1","event":"lock","source":"key","at_ms":${atMs},"code":null,"command_id":null,"metadata":null`
  assert.deepEqual(texts, [`${row('e3', 7000)}}`, `${row('e4', 8000)}}`, `${row('e5', 9000)},"short_id":"again001"}`])
})
