import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { Connection } from './db/connection.ts'
import { migrate } from './migrate.ts'
import { entitiesAfter } from './replication/entities.ts'
import { listDevices, updateDevice } from './tables/devices.ts'

const MIGRATIONS = new URL('./db/migrations/', import.meta.url)
const BEFORE = 17

/** Database of the previous schema with two devices, and a group that was changed later, migrated. */
function upgraded(t: TestContext, more = ''): Connection {
  const connection = new Connection(new Database(':memory:'))
  t.after(() => connection.close())
  for (const name of readdirSync(MIGRATIONS).sort().slice(0, BEFORE))
    connection.db.exec(readFileSync(new URL(name, MIGRATIONS), 'utf8'))
  connection.db.pragma(`user_version = ${BEFORE}`)
  connection.db.exec(`
    INSERT INTO device (device_id, hardware_id, short_id, device_type, name, mqtt_password_hash, created_at_ms,
    updated_at_ms)
      VALUES (1, 'b', 's1', 'teebox', 'Nine', 'x', 1, 1), (2, 'a', 's2', 'teebox', NULL, 'y', 1, 1);
    INSERT INTO device_state (device_id, latest, updated_at_ms) VALUES (1, '{}', 1), (2, '{}', 1);
    INSERT INTO device_group VALUES (3, 'Three', 1, 1);
    ${more}
  `)
  migrate(connection)
  return connection
}

function changedKeys(connection: Connection): string[] {
  return [...entitiesAfter(connection, 0, 100)].map(({ table, key }) => `${table} ${key}`)
}

test('devices of the previous version have no cart, and can be assigned to one', (t) => {
  const connection = upgraded(t)
  const carts = () => listDevices(connection).map(({ row }) => [row.hardwareId, row.name, row.cart])
  assert.deepEqual(carts(), [
    ['a', null, null],
    ['b', 'Nine', null],
  ])
  updateDevice(connection, { hardwareId: 'a', cart: '9', nowMs: 2 })
  updateDevice(connection, { hardwareId: 'b', name: null, nowMs: 2 })
  assert.deepEqual(carts(), [
    ['a', null, '9'],
    ['b', null, null],
  ])
})

test('a head office gets known devices again, with the new field', (t) => {
  const connection = upgraded(t, `UPDATE sync_identity SET site = 'north'`)
  assert.deepEqual(changedKeys(connection), ['device_group 3', 'device b', 'device a'])
  const [, device] = entitiesAfter(connection, 0, 100)
  assert.equal(device?.body?.cart, null)
})

test('without a head office the order of changes stays', (t) => {
  assert.deepEqual(changedKeys(upgraded(t)), ['device b', 'device a', 'device_group 3'])
})
