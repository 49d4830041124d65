import assert from 'node:assert/strict'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { Connection } from '../db/connection.ts'
import { migrate } from '../migrate.ts'
import { quarantineUnparseable } from './contents.ts'

function databaseWith(...statements: string[]): Connection {
  const connection = new Connection(new Database(':memory:'))
  migrate(connection)
  for (const sql of statements) connection.run(sql)
  return connection
}

test('invalid zone JSON is replaced by an empty set with a new version, and other sets stay', () => {
  const connection = databaseWith(
    `INSERT INTO geofence_set (group_id, version, zones, updated_at_ms) VALUES (1, 4, '[{"id":1}]', 0)`,
    `INSERT INTO geofence_set (group_id, version, zones, updated_at_ms) VALUES (2, 5, '[{"id":1y]', 0)`,
    `INSERT INTO geofence_set (group_id, version, zones, updated_at_ms) VALUES (3, 6, '{"id":1}', 0)`,
  )
  const found = quarantineUnparseable(connection)
  assert.deepEqual(
    found.map(({ place, outcome }) => [place, outcome]),
    [['geofence_set', 'set_aside']],
  )
  assert.match(found[0]?.detail ?? '', /zones of 2 rows cannot be read/)
  assert.deepEqual(connection.all('SELECT group_id, version, zones FROM geofence_set'), [
    { groupId: 1, version: 4, zones: '[{"id":1}]' },
    { groupId: 2, version: 6, zones: '[]' },
    { groupId: 3, version: 7, zones: '[]' },
  ])
  assert.deepEqual(connection.all('SELECT group_id FROM damaged_geofence_set_1'), [{ groupId: 2 }, { groupId: 3 }])
  assert.deepEqual(quarantineUnparseable(connection), [])
})

test('a user with an unreadable device list sees no devices', () => {
  const connection = databaseWith(`INSERT INTO user
    (user_id, name, role, is_active, allowed_hardware_ids, key_hash, created_at_ms, updated_at_ms, last_reset_ms)
    VALUES ('u', 'Ann', 'user', 1, '["cart-1"y', 'hash', 0, 0, 0)`)
  assert.equal(quarantineUnparseable(connection).length, 1)
  assert.deepEqual(connection.all('SELECT allowed_hardware_ids AS ids FROM user'), [{ ids: '[]' }])
})

test('an unreadable configuration layer is removed, and an unreadable device state becomes empty', () => {
  const connection = databaseWith(
    `INSERT INTO device (device_id, hardware_id, short_id, device_type, mqtt_password_hash, created_at_ms,
      updated_at_ms)
     VALUES (1, 'cart-1', 's', 'teebox', '', 0, 0)`,
    `INSERT INTO device_state (device_id, latest, updated_at_ms, watch) VALUES (1, '{"values":{}', 0, '}')`,
    `INSERT INTO device_config VALUES (1, '{"a":1')`,
  )
  assert.deepEqual(
    quarantineUnparseable(connection).map(({ place }) => place),
    ['device_state', 'device_state', 'device_config'],
  )
  assert.deepEqual(connection.all('SELECT latest, watch FROM device_state'), [{ latest: '{}', watch: null }])
  assert.deepEqual(connection.all('SELECT * FROM device_config'), [])
})

test('an unreadable waiting command is not sent; a completed one stays', () => {
  const command = (id: string, status: string) => `INSERT INTO command
    (command_id, hardware_id, short_id, device_type, command, params, ttl_s, status, requested_by, created_at_ms)
    VALUES ('${id}', 'cart-1', 's', 'teebox', 'locate', '{x', 60, '${status}', 'u', 5)`
  const connection = databaseWith(command('a', 'pending'), command('b', 'completed'))
  assert.equal(quarantineUnparseable(connection).length, 1)
  assert.deepEqual(connection.all('SELECT command_id AS id, status, params FROM command ORDER BY seq'), [
    { id: 'a', status: 'failed', params: '{}' },
    { id: 'b', status: 'completed', params: '{x' },
  ])
})
