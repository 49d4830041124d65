import assert from 'node:assert/strict'
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import Database from 'better-sqlite3'
import { CommandFolder } from '#scripts/testing/command-folder.ts'
import { startGateway } from '#testing/start-gateway.ts'
import { newSite } from './new-site.ts'

const folder = new CommandFolder()
const copied = folder.file('data')
after(() => folder.remove())

function content(dataDir: string, table: string): unknown[] {
  const db = new Database(join(dataDir, 'cartbarn.db'))
  try {
    return db.prepare(`SELECT * FROM ${table}`).all()
  } finally {
    db.close()
  }
}

test('a copied card becomes another course: nothing of the first is in its database, all of it is kept', async (t) => {
  const first = await startGateway()
  t.after(() => first.stop())
  const { body: group } = await first.request('POST', '/groups', { body: { name: 'North' } })
  await first.request('PUT', `/groups/${group.group_id}/config/teebox`, { body: { realtime_enabled: false } })
  const device = await first.device('cart-1')
  await device.publishAsync('dev/cart-1/tlm', JSON.stringify({ lat: 1, long: 2 }), { qos: 1 })
  await device.publishAsync('dev/cart-1/evt', JSON.stringify({ event: 'lock', source: 'key' }), { qos: 1 })
  await first.request('PATCH', '/site', { body: { name: 'Old Course', time_zone: 'Europe/Berlin' } })
  const running = await folder.run(newSite, ['--data', first.config.dataDir, '--yes'])
  assert.deepEqual([running.code, running.out], [1, ''])
  assert.match(running.err, /^new-site: another cartbarn is using the data folder .*; stop it first\n$/)
  await first.restart(() => cpSync(first.config.dataDir, copied, { recursive: true }))

  const asked = await folder.run(newSite, ['--data', copied])
  assert.deepEqual([asked.code, asked.out], [2, ''])
  const before = content(copied, 'sync_identity')
  const done = await folder.run(newSite, ['--data', copied, '--yes'])
  assert.deepEqual([done.code, done.err], [0, ''])
  assert.match(done.out, /^The first course \(1 devices\) is kept in /)

  for (const table of [
    'device',
    'user',
    'lock_event',
    'audit_entry',
    'telemetry_log',
    'telemetry_block',
    'note',
    'secret',
  ])
    assert.deepEqual(content(copied, table), [], table)
  assert.notDeepEqual(content(copied, 'sync_identity'), before)
  assert.equal(content(copied, 'device_group').length, 1)
  assert.equal(content(copied, 'group_config').length, 1)
  const [site] = content(copied, 'site') as { settings: string }[]
  const settings = JSON.parse(site?.settings ?? '{}')
  assert.deepEqual([settings.name, settings.time_zone ?? settings.timeZone], [undefined, 'Europe/Berlin'])
  const kept =
    readdirSync(copied).find((name) => name.startsWith('first-course-')) ?? assert.fail('nothing is kept')
  assert.equal(content(join(copied, kept), 'device').length, 1)

  const second = await startGateway({ CARTBARN_DATA_DIR: copied, CARTBARN_ADMIN_API_KEY: undefined as never })
  t.after(() => second.stop())
  const key = readFileSync(join(copied, 'admin-key.txt'), 'utf8').split('\n')[0] ?? ''
  const { body } = await second.request('GET', '/devices', { key })
  assert.deepEqual(body.devices, [])
})

test('a folder without a database is told from one', async () => {
  const none = await folder.run(newSite, ['--data', folder.file('none'), '--yes'])
  assert.equal(none.code, 1)
  assert.match(none.err, /^new-site: .* has no database of a gateway/)
  assert.equal(existsSync(folder.file('none')), false)
})
