import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { Connection } from './db/connection.ts'
import { migrate } from './migrate.ts'
import { listDevices } from './tables/devices.ts'
import { loadMqttSessions } from './tables/mqtt-sessions.ts'

const MIGRATIONS = new URL('./db/migrations/', import.meta.url)

/** Database of the previous schema with these rows, migrated to the current one. */
function upgraded(t: TestContext, rows: string): Connection {
  const connection = new Connection(new Database(':memory:'))
  t.after(() => connection.close())
  for (const name of readdirSync(MIGRATIONS).sort().slice(0, 8)) {
    connection.db.exec(readFileSync(new URL(name, MIGRATIONS), 'utf8'))
  }
  connection.db.pragma('user_version = 8')
  connection.db.exec(rows)
  migrate(connection)
  return connection
}

test('kept sessions of programs move into the name space of their user, those of devices stay', (t) => {
  const connection = upgraded(
    t,
    `
    INSERT INTO mqtt_session VALUES ('shop', 'user:u-1', 7), ('cart-1', 'device:cart-1', 0);
    INSERT INTO mqtt_subscription VALUES ('shop', 'dev/+/st', 1, NULL), ('cart-1', 'dev/cart-1/cmd', 1, NULL);
    INSERT INTO mqtt_queued VALUES (1, 'shop', 5, 0, 'dev/cart-1/st', 'x', 1, 0, NULL), (2, 'cart-1', 6, 0, 'a', 'y',
    1, 0, NULL);
    INSERT INTO mqtt_received VALUES ('shop', 9, NULL), ('cart-1', 9, NULL);
    INSERT INTO mqtt_will VALUES ('pos', 'user:u-1', 'shop/pos', 'gone', 1, 0, NULL), ('cart-1', 'device:cart-1',
    'dev/cart-1/st', '{}', 1, 1, NULL);
  `,
  )
  const { sessions, subscriptions, queued, received, wills } = loadMqttSessions(connection)
  assert.deepEqual(sessions, [
    { clientId: 'cart-1', owner: 'device:cart-1', idleHours: 0 },
    { clientId: 'user:u-1/shop', owner: 'user:u-1', idleHours: 7 },
  ])
  const ids = (rows: { clientId: string }[]) => rows.map(({ clientId }) => clientId).sort()
  for (const rows of [subscriptions, queued, received]) assert.deepEqual(ids(rows), ['cart-1', 'user:u-1/shop'])
  assert.deepEqual(ids(wills), ['cart-1', 'user:u-1/pos'])
})

test('devices that share a password have that of the enrolment: it opens no more, and they wait for their own', (t) => {
  const connection = upgraded(
    t,
    `
    INSERT INTO device VALUES (1, 'a', 's1', 'teebox', NULL, NULL, 'shared', 1, 1), (2, 'b', 's2', 'teebox', NULL,
    NULL, 'own', 1, 1),
      (3, 'c', 's3', 'teebox', NULL, NULL, 'shared', 1, 1);
    INSERT INTO device_state (device_id, latest, updated_at_ms) VALUES (1, '{}', 1), (2, '{}', 1), (3, '{}', 1);
  `,
  )
  const rows = listDevices(connection).map(({ row: { hardwareId, mqttPasswordHash, isOnSharedKey } }) => [
    hardwareId,
    mqttPasswordHash,
    isOnSharedKey,
  ])
  assert.deepEqual(rows, [
    ['a', '', true],
    ['b', 'own', false],
    ['c', '', true],
  ])
})
