import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { ENTITY_TABLES } from '#shared/wire/replication/replicated.ts'
import { migrate } from '../migrate.ts'
import { acknowledge } from '../replication/acknowledge.ts'
import { insertAuditEntry } from '../tables/audit-log.ts'
import { type CommandRow, expireCommands } from '../tables/commands.ts'
import { putDeviceConfig, putGroupConfig } from '../tables/device-configs.ts'
import { putDeviceType } from '../tables/device-types.ts'
import { createDevice, deleteDevice, updateDevice } from '../tables/devices.ts'
import { eraseStep } from '../tables/erasure.ts'
import { saveGeofenceSet } from '../tables/geofences.ts'
import { createGroup, deleteGroup, updateGroup } from '../tables/groups.ts'
import { createCommands, withdrawCommands } from '../tables/new-commands.ts'
import { createUser, deleteUser, recordUsage, updateUser } from '../tables/users.ts'
import { WriterTables } from '../telemetry/log-tail.ts'
import { claimSite } from './cursors.ts'

const MIGRATIONS = new URL('../db/migrations/', import.meta.url)
const NO_PUBLICATION = { version: null, sessionChanges: [] }
const HASH = 'a'.repeat(64)

function open(t: TestContext): WriterTables {
  const tables = new WriterTables(new Database(':memory:'))
  tables.db.pragma('foreign_keys = ON')
  migrate(tables)
  t.after(() => tables.close())
  return tables
}

/** Changes since the last call, oldest first; checks that every number is new. */
function changes(tables: WriterTables): () => string[] {
  let seen = 0
  return () => {
    const rows = tables.all<{ seq: number; entity: string; key: string }>(
      'SELECT seq, entity, key FROM change_log WHERE seq > ? ORDER BY seq',
      seen,
    )
    seen = rows.at(-1)?.seq ?? seen
    return rows.map(({ entity, key }) => `${entity} ${key}`)
  }
}

function newDevice(tables: WriterTables, hardwareId: string, groupId: number | null = null) {
  return createDevice(tables, {
    hardwareId,
    deviceType: 'teebox',
    name: null,
    groupId,
    mqttPasswordHash: 'x',
    nowMs: 1,
    publication: NO_PUBLICATION,
  })
}

function newCommand(commandId: string, createdAtMs = 1): CommandRow {
  return {
    commandId,
    hardwareId: 'cart-1',
    shortId: 'c1',
    deviceType: 'teebox',
    command: 'ring',
    paramsJson: '{}',
    metadataJson: null,
    ttlS: 60,
    status: 'pending',
    requestedBy: 'u1',
    retryOf: null,
    createdAtMs,
    publishedAtMs: null,
    acknowledgedAtMs: null,
    completedAtMs: null,
    error: null,
    lateAck: null,
    forced: null,
  }
}

function addCommands(tables: WriterTables, commands: CommandRow[]): void {
  createCommands(tables, { commands, idempotencyKey: null })
}

test('each change of a device, its layer and its deletion is the newest entry of its key', (t) => {
  const tables = open(t)
  const changed = changes(tables)
  const { deviceId } = newDevice(tables, 'cart-1')
  assert.deepEqual(changed(), ['device cart-1'])
  updateDevice(tables, { hardwareId: 'cart-1', name: 'One', nowMs: 2 })
  assert.deepEqual(changed(), ['device cart-1'])
  putDeviceConfig(tables, { deviceId, config: '{"a":1}', publication: NO_PUBLICATION })
  putDeviceConfig(tables, { deviceId, config: '{"a":2}', publication: NO_PUBLICATION })
  assert.deepEqual(changed(), ['device_config cart-1'])
  putDeviceConfig(tables, { deviceId, config: null, publication: NO_PUBLICATION })
  assert.deepEqual(changed(), ['device_config cart-1'])
  putDeviceConfig(tables, { deviceId, config: '{"a":3}', publication: NO_PUBLICATION })
  changed()
  // a cascade deletes the layer, after the device is gone
  deleteDevice(tables, { hardwareId: 'cart-1', nowMs: 3 })
  assert.deepEqual(changed(), ['device_config cart-1', 'device cart-1'])
  assert.deepEqual(tables.all('SELECT * FROM device_config'), [])
  newDevice(tables, 'cart-1')
  assert.deepEqual(changed(), ['device cart-1'])
  deleteDevice(tables, { hardwareId: 'cart-1', nowMs: 4 })
  assert.deepEqual(changed(), ['device cart-1'], 'without a layer there is none to delete')
})

test('a group, its layers and its zones each have an entry in the change log', (t) => {
  const tables = open(t)
  const changed = changes(tables)
  createGroup(tables, { groupId: 7, highestOtherId: 0, name: 'Seven', nowMs: 1 })
  updateGroup(tables, { groupId: 7, name: 'Eight', nowMs: 2 })
  assert.deepEqual(changed(), ['device_group 7'])
  const layer = { groupId: 7, deviceType: 'teebox', publication: NO_PUBLICATION }
  putGroupConfig(tables, { ...layer, config: '{}' })
  putGroupConfig(tables, { ...layer, config: '{"a":1}' })
  assert.deepEqual(changed(), ['group_config 7/teebox'])
  putGroupConfig(tables, { ...layer, config: null })
  assert.deepEqual(changed(), ['group_config 7/teebox'])
  putGroupConfig(tables, { ...layer, config: '{}' })
  const zones = {
    groupId: 7,
    version: 1,
    siteVersion: 0,
    siteSince: 0,
    zonesJson: '[]',
    updatedAtMs: 1,
    sessionChanges: [],
  }
  saveGeofenceSet(tables, zones)
  saveGeofenceSet(tables, { ...zones, version: 2 })
  assert.deepEqual(changed(), ['group_config 7/teebox', 'geofence_set 7'])
  deleteGroup(tables, { groupId: 7, geofenceSet: { ...zones, version: 3 } })
  assert.deepEqual(changed().sort(), ['device_group 7', 'geofence_set 7', 'group_config 7/teebox'])
})

test('creating and replacing a type each add a change', (t) => {
  const tables = open(t)
  const changed = changes(tables)
  const configSchema = { type: 'object', properties: {} } as const
  const type = { name: 'mower', description: '', defaults: {}, configSchema, commands: {} }
  putDeviceType(tables, { type, publication: NO_PUBLICATION })
  assert.deepEqual(changed(), ['device_type mower'])
  putDeviceType(tables, { type, publication: NO_PUBLICATION })
  assert.deepEqual(changed(), ['device_type mower'])
})

test('a change of a user is logged only if the head office gets it, not a new key or usage counts', (t) => {
  const tables = open(t)
  const changed = changes(tables)
  const user = { role: 'admin', allowedHardwareIds: null, nowMs: 1 } as const
  createUser(tables, { ...user, userId: 'u1', name: 'A', email: null, keyHash: 'k1' })
  createUser(tables, { ...user, userId: 'u2', name: 'B', email: null, keyHash: 'k2' })
  assert.deepEqual(changed(), ['user u1', 'user u2'])
  updateUser(tables, { userId: 'u1', keyHash: 'k3', nowMs: 2 })
  recordUsage(tables, [
    { userId: 'u1', totalRequests: 1, requestsToday: 1, lastResetMs: 2, firstUsedAtMs: 2, lastUsedAtMs: 2 },
  ])
  assert.deepEqual(changed(), [])
  for (const change of [
    { email: 'a@b.c' },
    { isActive: false },
    { allowedHardwareIds: ['cart-1'] },
    { name: 'C' },
    { masksCodes: true },
  ]) {
    updateUser(tables, { userId: 'u1', ...change, nowMs: 3 })
    assert.deepEqual(changed(), ['user u1'], JSON.stringify(change))
  }
  deleteUser(tables, { userId: 'u1' })
  assert.deepEqual(changed(), ['user u1'])
})

test('each status change of a command adds a change', (t) => {
  const tables = open(t)
  newDevice(tables, 'cart-1')
  const changed = changes(tables)
  changed()
  addCommands(tables, [newCommand('c1'), newCommand('c2')])
  assert.deepEqual(changed(), ['command c1', 'command c2'])
  expireCommands(tables, { commandIds: ['c1'] })
  assert.deepEqual(changed(), ['command c1'])
})

test('a withdrawn command is logged if it may have been sent, until that is acknowledged', (t) => {
  const tables = open(t)
  newDevice(tables, 'cart-1')
  addCommands(tables, [newCommand('c1'), newCommand('c2'), newCommand('c3')])
  const entries = () => tables.all<{ key: string }>(`SELECT key FROM change_log WHERE entity = 'command' ORDER BY seq`)
  withdrawCommands(tables, { commandIds: ['c1'] })
  assert.deepEqual(entries(), [{ key: 'c2' }, { key: 'c3' }])
  claimSite(tables, { site: 'links' })
  withdrawCommands(tables, { commandIds: ['c2'] })
  assert.deepEqual(entries(), [{ key: 'c3' }, { key: 'c2' }])
  const seq = tables.get<{ seq: number }>('SELECT max(seq) AS seq FROM change_log')?.seq ?? 0
  acknowledge(tables, { cursors: { entities: { seq: seq - 1, hash: HASH } } })
  assert.deepEqual(entries(), [{ key: 'c3' }, { key: 'c2' }])
  acknowledge(tables, { cursors: { entities: { seq, hash: HASH } } })
  assert.deepEqual(entries(), [{ key: 'c3' }])
})

test('an audit entry is logged when it is created, but not when it is deleted by age', (t) => {
  const tables = open(t)
  claimSite(tables, { site: 'links' })
  const origin = { atMs: 1, userId: 'u1', address: null, person: null, sessionId: null }
  for (const [target, name] of [
    ['a', 'Jo'],
    ['b', 'Joan'],
  ] as const)
    insertAuditEntry(tables, origin, { action: 'user.updated', target, before: null, after: { name } })
  const ids = tables.all<{ id: string }>('SELECT entry_id AS id FROM audit_entry ORDER BY seq')
  const entries = () => tables.all<{ key: string }>('SELECT key FROM change_log ORDER BY seq')
  assert.deepEqual(
    entries().map(({ key }) => key),
    ids.map(({ id }) => id),
  )
  eraseStep(tables, { subject: { person: 'Jo' }, after: { table: 'audit_entry', seq: 0 }, nowMs: 1 })
  // the rows that the erasure changed are sent again, and no others
  assert.deepEqual(
    entries().map(({ key }) => key),
    [ids[1]?.id, ids[0]?.id],
  )
  tables.run(`DELETE FROM audit_entry WHERE target = 'a'`)
  assert.deepEqual(entries(), [{ key: ids[1]?.id }])
})

test('an audit log of the previous version is also sent, in its order', (t) => {
  const tables = open(t)
  tables.db.exec('DROP TRIGGER audit_entry_made; DROP TRIGGER audit_entry_gone')
  for (const id of ['z', 'a'])
    tables.run(`INSERT INTO audit_entry (entry_id, at_ms, action, target) VALUES (?, 1, 'user.updated', 'u')`, id)
  tables.db.exec(readFileSync(new URL('012-audit-log-replication.sql', MIGRATIONS), 'utf8'))
  assert.deepEqual(changes(tables)(), ['audit_entry z', 'audit_entry a'])
})

test('a change is logged exactly once, whatever conflict clause the statement has', (t) => {
  const tables = open(t)
  const changed = changes(tables)
  for (const clause of ['REPLACE', 'IGNORE', 'ABORT', 'FAIL', 'ROLLBACK']) {
    tables.run('DELETE FROM geofence_set')
    changed()
    tables.run(`INSERT OR ${clause} INTO geofence_set (group_id, version, zones, updated_at_ms) VALUES (1, 1, '[]', 1)`)
    assert.deepEqual(changed(), ['geofence_set 1'], clause)
    tables.run(`UPDATE OR ${clause} geofence_set SET version = 2`)
    assert.deepEqual(changed(), ['geofence_set 1'], clause)
  }
  assert.equal(tables.all('SELECT * FROM change_log').length, 1)
})

test('a database of the previous version is taken over with all its rows', (t) => {
  const tables = new WriterTables(new Database(':memory:'))
  t.after(() => tables.close())
  tables.db.pragma('foreign_keys = ON')
  for (const name of readdirSync(MIGRATIONS).sort().slice(0, 7)) {
    tables.db.exec(readFileSync(new URL(name, MIGRATIONS), 'utf8'))
  }
  tables.db.exec('DROP TABLE gps; DROP TABLE battery')
  tables.db.pragma('user_version = 7')
  tables.db.exec(`
    INSERT INTO device_group VALUES (3, 'Three', 1, 1), (2, 'Two', 1, 1);
    INSERT INTO device_type VALUES ('mower', '', '{}', '{}', '{}');
    INSERT INTO device VALUES (5, 'cart-5', 's5', 'teebox', NULL, 3, 'x', 1, 1), (4, 'cart-4', 's4', 'mower', NULL, 2,
    'y', 1, 1);
    INSERT INTO group_config VALUES (3, 'teebox', '{}'), (2, 'mower', '{}');
    INSERT INTO device_config VALUES (5, '{}');
    INSERT INTO geofence_set (group_id, version, zones, updated_at_ms) VALUES (3, 1, '[]', 1);
    INSERT INTO user (user_id, name, role, is_active, key_hash, created_at_ms, updated_at_ms, last_reset_ms)
      VALUES ('u1', 'A', 'admin', 1, 'k', 1, 1, 1);
    INSERT INTO command (command_id, hardware_id, short_id, device_type, command, params, ttl_s, status, requested_by,
    created_at_ms)
      VALUES ('c1', 'cart-4', 's4', 'mower', 'ring', '{}', 60, 'expired', 'u1', 1);
    INSERT INTO telemetry_block VALUES (1, 5, 'gps', 100, 200, 2, x'00'), (2, 4, 'gps', 50, 90, 2, x'00'), (9, 1,
    'gps', 1, 2, 2, x'00');
    INSERT INTO telemetry_deletion VALUES (1);
  `)
  migrate(tables)
  assert.deepEqual(changes(tables)(), [
    'device_group 2',
    'device_group 3',
    'device_type mower',
    'device cart-4',
    'device cart-5',
    'group_config 2/mower',
    'group_config 3/teebox',
    'device_config cart-5',
    'geofence_set 3',
    'user u1',
    'command c1',
  ])
  assert.deepEqual(tables.all('SELECT seq, block_id FROM block_log ORDER BY seq'), [
    { seq: 1, blockId: 2 },
    { seq: 2, blockId: 1 },
  ])
  const identity = tables.get<{ epoch: string; site: string | null }>('SELECT epoch, site FROM sync_identity')
  assert.match(identity?.epoch ?? '', /^[0-9a-f]{32}$/)
  assert.equal(identity?.site, null)
})

test('every replicated table has triggers for insert, update and delete', (t) => {
  const tables = open(t)
  const sql = tables.all<{ tblName: string; sql: string }>(
    `SELECT tbl_name, sql FROM sqlite_schema WHERE type = 'trigger' AND sql LIKE '%INTO change_log%'`,
  )
  // chunks are sent one after the other
  for (const table of ENTITY_TABLES.filter((name) => name !== 'course_piece')) {
    const of = sql.filter(({ tblName }) => tblName === table).map((trigger) => trigger.sql)
    // deletions of audit log entries are not sent
    const deleted = table === 'audit_entry' ? [] : ['AFTER DELETE']
    for (const event of ['AFTER INSERT', 'AFTER UPDATE', ...deleted])
      assert.equal(of.filter((text) => text.includes(event)).length, 1, `${table} ${event}`)
  }
})
