import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { BlockTable } from '#testing/block-table.ts'
import { putEntity } from './rows.ts'

const folder = mkdtempSync(join(tmpdir(), 'cartbarn-rebuild-'))
after(() => rmSync(folder, { recursive: true }))

test('open alerts of one cart stay as many as they were, each about its own zone', (t) => {
  const table = new BlockTable(join(folder, 'cartbarn.db'))
  t.after(() => table.close())
  const alerts = [
    { alert_id: 'a1', kind: 'zone_stay', cart: '7', details: { zone_id: 'green-1', seconds: 40 } },
    { alert_id: 'a2', kind: 'zone_stay', cart: '7', details: { zone_id: 'green-2', seconds: 50 } },
    { alert_id: 'a3', kind: 'battery_low', cart: '7', details: { voltage: 44 } },
    { alert_id: 'a6', kind: 'device_twice', cart: '7', details: { hardware_id: 'gps-7' } },
    { alert_id: 'a4', kind: 'pin_locked', cart: null, details: { user_id: 'u1', name: 'Jane' } },
    { alert_id: 'a5', kind: 'pin_locked', cart: null, details: { user_id: 'u2', name: 'Joe' } },
  ]
  for (const alert of alerts) {
    const body = { ...alert, hardware_id: null, opened_at_ms: 1, closed_at_ms: null, note: null }
    assert.ok(putEntity(table.connection, { table: 'alert', key: alert.alert_id, body }))
  }
  assert.deepEqual(table.connection.all('SELECT alert_id AS id, subject FROM alert ORDER BY alert_id'), [
    { id: 'a1', subject: 'green-1' },
    { id: 'a2', subject: 'green-2' },
    { id: 'a3', subject: '' },
    { id: 'a4', subject: 'u1' },
    { id: 'a5', subject: 'u2' },
    { id: 'a6', subject: 'gps-7' },
  ])
})
