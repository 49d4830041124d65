import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { BATTERY, GPS, NO_SPEED } from '#shared/telemetry/records.ts'
import { migrate } from '../migrate.ts'
import { WriterTables } from './log-tail.ts'
import { TelemetryReader } from './reader.ts'

const MIGRATIONS = new URL('../db/migrations/', import.meta.url)
const START_MS = Date.UTC(2026, 4, 1)

/** Database as schema 6 left it. */
function schema6(): WriterTables {
  const tables = new WriterTables(new Database(':memory:'))
  for (const name of readdirSync(MIGRATIONS).sort().slice(0, 6)) {
    tables.db.exec(readFileSync(new URL(name, MIGRATIONS), 'utf8'))
  }
  tables.db.pragma('user_version = 6')
  return tables
}

function register(tables: WriterTables, deviceId: number): void {
  tables.run(
    `INSERT INTO device (device_id, hardware_id, short_id, device_type, mqtt_password_hash, created_at_ms,
      updated_at_ms)
     VALUES (?, ?, ?, 'teebox', 'x', 0, 0)`,
    deviceId,
    `cart-${deviceId}`,
    `c${deviceId}`,
  )
}

test('rows of an earlier program are sealed, those of deleted devices are not', () => {
  const tables = schema6()
  register(tables, 1)
  register(tables, 2)
  const gps = tables.db.prepare(
    'INSERT INTO gps (device_id, at_ms, lat_e7, long_e7, speed_milli_kmh) VALUES (?, ?, ?, ?, ?)',
  )
  const battery = tables.db.prepare('INSERT INTO battery (device_id, at_ms, voltage_mv) VALUES (?, ?, ?)')
  // newest first: the order of the table differs from that of time
  for (let i = 4999; i >= 0; i--) {
    gps.run(1, START_MS + i * 1000, 519_000_000 + i, -4_000_000 - i, i % 5 === 0 ? null : i)
    if (i % 100 === 0) battery.run(2, START_MS + i * 1000, 12_000 + i)
  }
  gps.run(3, START_MS, 1, 2, 3)
  tables.run('INSERT INTO telemetry_deletion (device_id) VALUES (3)')
  migrate(tables)
  const reader = new TelemetryReader(tables)
  const everything = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, order: 'asc', limit: 10_000 } as const
  const positions = reader.page(GPS, 1, everything)
  assert.equal(positions.atMs.length, 5000)
  for (let i = 0; i < 5000; i++) {
    assert.deepEqual(
      [positions.atMs[i], positions.latE7[i], positions.longE7[i], positions.speedMilliKmh[i]],
      [START_MS + i * 1000, 519_000_000 + i, -4_000_000 - i, i % 5 === 0 ? NO_SPEED : i],
    )
  }
  const voltages = reader.page(BATTERY, 2, everything)
  assert.deepEqual(
    [...voltages.voltageMv],
    Array.from({ length: 50 }, (_, i) => 12_000 + i * 100),
  )
  assert.deepEqual(
    tables.all('SELECT device_id AS device, stream, count FROM telemetry_block ORDER BY device_id, first_ms'),
    [
      { device: 1, stream: 'gps', count: 2048 },
      { device: 1, stream: 'gps', count: 2048 },
      { device: 1, stream: 'gps', count: 904 },
      { device: 2, stream: 'battery', count: 50 },
    ],
  )
  assert.deepEqual(tables.all(`SELECT name FROM sqlite_schema WHERE name IN ('gps', 'battery')`), [])
})
