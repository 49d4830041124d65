import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { type DamageKind, damagePage, placesOf } from '#testing/damage/page-damage.ts'
import { type Connection, openReader } from '../db/connection.ts'
import { migrate } from '../migrate.ts'
import { TABLES } from '../tables/all.ts'
import { openForSetup, openWriter } from '../writer/open.ts'
import { rebuildIndex } from './rebuild-index.ts'
import { createReplacementTable } from './replacement-table.ts'
import { detachedTables, repairAtStart } from './start.ts'
import { swapRoots } from './swap-roots.ts'
import { repairTables } from './table-repair.ts'

let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cartbarn-mend-'))
  path = join(folder, 'cartbarn.db')
  const connection = openForSetup(path)
  migrate(connection)
  connection.close()
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

function write<Result>(work: (connection: Connection) => Result): Result {
  const connection = openWriter(path)
  try {
    return connection.db.transaction(() => work(connection))()
  } finally {
    connection.close()
  }
}

function read<Row>(sql: string): Row[] {
  const connection = openReader(path)
  try {
    return connection.all<Row>(sql)
  } finally {
    connection.close()
  }
}

function addDevices(connection: Connection, count: number): void {
  for (let i = 0; i < count; i++) {
    const at = connection.get<{ id: number }>(
      `INSERT INTO device (hardware_id, short_id, device_type, group_id, mqtt_password_hash, created_at_ms,
        updated_at_ms)
       VALUES ('cart-' || ?, 's' || ?, 'teebox', 7, 'hash', 1, 2) RETURNING device_id AS id`,
      i,
      i,
    )
    connection.run("INSERT INTO device_state (device_id, latest, updated_at_ms) VALUES (?, '{}', 3)", at?.id ?? 0)
  }
}

function addLockEvents(connection: Connection, count: number, from = 0): void {
  for (let i = from; i < from + count; i++) {
    connection.run(
      `INSERT INTO lock_event (event_id, hardware_id, identity, event, source, at_ms)
       VALUES ('event-' || ?, 'cart-1', 'identity-' || ?, 'unlock', 'rfid', ?)`,
      i,
      i,
      i,
    )
  }
}

function damage(name: string, kind: DamageKind): void {
  const place = placesOf(path).find((one) => one.name === name)
  assert.ok(place)
  damagePage(path, place.page, kind)
}

const isWhole = (table: string) => assert.deepEqual(read(`PRAGMA quick_check('${table}')`), [{ quickCheck: 'ok' }])

test('an intact database stays unchanged', () => {
  write((connection) => addDevices(connection, 10))
  assert.deepEqual(repairAtStart({ path, openWriter }, []), [])
  assert.deepEqual(read("SELECT name FROM sqlite_schema WHERE name LIKE 'damaged_%_1'"), [])
})

for (const kind of ['noise', 'zeros'] as const) {
  test(`a table with a page of ${kind} is recreated from its other pages, and numbering continues`, () => {
    write((connection) => addLockEvents(connection, 500))
    damage('lock_event', kind)
    const [found, ...others] = repairTables({ path, openWriter }, ['lock_event'], true)
    assert.deepEqual(others, [])
    assert.deepEqual([found?.place, found?.outcome], ['lock_event', 'set_aside'])
    assert.match(found?.detail ?? '', /^Table lock_event \(the lock events\): .* rows could be read, .* npm run repair/)
    isWhole('lock_event')
    const [{ rows } = { rows: 0 }] = read<{ rows: number }>('SELECT count(*) AS rows FROM lock_event')
    assert.ok(rows > 400 && rows < 500, `${rows} rows`)
    write((connection) => addLockEvents(connection, 1, 1000))
    assert.deepEqual(read('SELECT max(seq) AS seq FROM lock_event'), [{ seq: 501 }])
    assert.deepEqual(read("SELECT name FROM sqlite_schema WHERE name = 'damaged_lock_event_1'").length, 1)
    assert.deepEqual(repairTables({ path, openWriter }, ['lock_event'], true), [])
  })
}

for (const index of ['lock_event_by_device', 'lock_event_by_code', 'sqlite_autoindex_lock_event_2']) {
  test(`${index} is rebuilt without any lost row`, () => {
    write((connection) => {
      addLockEvents(connection, 500)
      connection.run("UPDATE lock_event SET code = '12' WHERE at_ms > 100")
    })
    damage(index, 'noise')
    const found = repairTables({ path, openWriter }, ['lock_event'], true)
    assert.deepEqual(
      found.map(({ outcome }) => outcome),
      ['mended'],
    )
    isWhole('lock_event')
    assert.deepEqual(
      read(`SELECT count(*) AS rows FROM lock_event INDEXED BY ${index} WHERE hardware_id = 'cart-1' AND code = '12'`),
      [{ rows: 399 }],
    )
    // also a constraint of the table
    assert.throws(() => write((connection) => addLockEvents(connection, 1)), /UNIQUE/)
  })
}

test('every table can get a replacement table, and every index can be rebuilt', () => {
  const connection = openWriter(path)
  connection.db.unsafeMode(true)
  const tables = [...TABLES.keys()].filter((table) => !table.startsWith('sqlite_'))
  const indexes = connection.all<{ name: string; table: string }>(
    `SELECT name, tbl_name AS "table" FROM sqlite_schema s WHERE type = 'index'
     AND (sql IS NOT NULL OR tbl_name NOT IN (SELECT name FROM pragma_table_list WHERE wr = 1))`,
  )
  for (const { name, table } of indexes) rebuildIndex(connection, table, name)
  for (const table of tables) swapRoots(connection, createReplacementTable(connection, table).pairs)
  connection.close()
  for (const table of tables) isWhole(table)
})

test('a table that cannot be recreated does not block the repair of others', () => {
  write((connection) => {
    addLockEvents(connection, 500)
    // no statement for the index of a replacement table can be derived from this one
    connection.run('CREATE INDEX "odd index" ON audit_entry (address)')
    for (let i = 0; i < 500; i++)
      connection.run("INSERT INTO audit_entry (entry_id, at_ms, action, target) VALUES ('entry-' || ?, 1, 'a', 'b')", i)
  })
  damage('audit_entry', 'noise')
  damage('lock_event', 'noise')
  const found = repairTables({ path, openWriter }, ['audit_entry', 'lock_event'], true)
  assert.deepEqual(
    found.map(({ place, outcome }) => [place, outcome]),
    [
      ['audit_entry', 'unreadable'],
      ['lock_event', 'set_aside'],
    ],
  )
  assert.match(found[0]?.detail ?? '', /npm run repair/)
})

test('an open reader sees the recreated table', () => {
  write((connection) => addLockEvents(connection, 500))
  damage('lock_event', 'zeros')
  const reader = openReader(path)
  assert.throws(() => reader.all('SELECT * FROM lock_event NOT INDEXED'))
  repairTables({ path, openWriter }, ['lock_event'], true)
  assert.ok(reader.all('SELECT * FROM lock_event NOT INDEXED').length > 400)
  reader.close()
})

test('no number is assigned twice when the last numbers are lost', () => {
  write((connection) => {
    addDevices(connection, 10)
    // of a deleted device
    connection.run(`INSERT INTO telemetry_block (device_id, stream, first_ms, last_ms, count, records)
      VALUES (4711, 'gps', 1, 2, 1, x'00')`)
    connection.run("INSERT INTO sync_cursor (stream, seq, hash) VALUES ('lock_events', 90000, '')")
  })
  damage('sqlite_sequence', 'noise')
  repairAtStart({ path, openWriter }, [])
  write((connection) => {
    addLockEvents(connection, 1)
    connection.run(`INSERT INTO device (hardware_id, short_id, device_type, mqtt_password_hash, created_at_ms,
      updated_at_ms)
      VALUES ('new', 'new', 'teebox', 'hash', 1, 2)`)
  })
  const [numbers] = read<{ device: number; event: number }>(
    'SELECT (SELECT max(device_id) FROM device) AS device, (SELECT max(seq) FROM lock_event) AS event',
  )
  assert.ok((numbers?.device ?? 0) > 4711)
  assert.ok((numbers?.event ?? 0) > 90_000)
})

for (const table of ['telemetry_log', 'telemetry_log_end']) {
  test(`no number of the log is assigned twice when ${table} is lost`, () => {
    write((connection) => {
      connection.run('INSERT INTO telemetry_log (first_seq, samples) VALUES (5000, zeroblob(9))')
      connection.run('UPDATE telemetry_log_end SET next_seq = 4000')
    })
    damage(table, 'zeros')
    repairAtStart({ path, openWriter }, [])
    const [end] = read<{ next: number; log: number }>(
      'SELECT next_seq AS next, (SELECT count(*) FROM telemetry_log) AS log FROM telemetry_log_end',
    )
    assert.ok((end?.next ?? 0) > 5000, `goes on at ${end?.next}`)
  })
}

test('devices with a lost state get an empty one, and referenced groups are recreated', () => {
  write((connection) => {
    addDevices(connection, 3)
    connection.run("INSERT INTO device_group (group_id, name, created_at_ms, updated_at_ms) VALUES (7, 'Front', 1, 1)")
  })
  damage('device_state', 'noise')
  damage('device_group', 'zeros')
  const found = repairAtStart({ path, openWriter }, [])
  assert.deepEqual(
    found.map(({ place, outcome }) => [place, outcome]),
    [
      ['device_state', 'set_aside'],
      ['device_group', 'set_aside'],
    ],
  )
  assert.deepEqual(read('SELECT count(*) AS states FROM device JOIN device_state USING (device_id)'), [{ states: 3 }])
  assert.deepEqual(read('SELECT group_id, name FROM device_group'), [{ groupId: 7, name: 'Group 7' }])
  // references lead to the original tables
  write((connection) => connection.run('DELETE FROM device WHERE device_id = 1'))
  assert.deepEqual(read('SELECT device_id FROM device_state'), [{ deviceId: 2 }, { deviceId: 3 }])
})

test('a running gateway recreates a table that it keeps in memory only if no row is missing', () => {
  write((connection) => addDevices(connection, 200))
  damage('device', 'noise')
  const [found] = repairTables({ path, openWriter }, ['device'], true)
  assert.equal(found?.outcome, 'unreadable')
  assert.match(found?.detail ?? '', /until the gateway is restarted/)
  assert.equal(repairTables({ path, openWriter }, ['device'], false)[0]?.outcome, 'set_aside')
})

test('detached pages are reported at every start', () => {
  write((connection) => addLockEvents(connection, 500))
  damage('lock_event', 'noise')
  repairTables({ path, openWriter }, ['lock_event'], false)
  const [found, ...others] = repairAtStart({ path, openWriter }, [])
  assert.deepEqual([found?.place, found?.outcome, others], ['lock_event', 'set_aside', []])
  assert.match(found?.detail ?? '', /damaged_lock_event_1.*npm run repair/)
  const reader = openReader(path)
  assert.deepEqual(detachedTables(reader), ['damaged_lock_event_1'])
  reader.close()
})
