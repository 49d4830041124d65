import assert from 'node:assert/strict'
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import Database from 'better-sqlite3'
import { CommandFolder } from '#scripts/testing/command-folder.ts'
import { FakeMachine } from '#testing/fake-machine.ts'
import { startGateway } from '#testing/start-gateway.ts'
import { newSite } from './new-site.ts'
import { tls } from './tls.ts'

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

test('a copied card becomes another course with an empty database, and the old data is kept', async (t) => {
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
  const kept = readdirSync(copied).find((name) => name.startsWith('first-course-')) ?? assert.fail('nothing is kept')
  assert.equal(content(join(copied, kept), 'device').length, 1)

  const second = await startGateway({ CARTBARN_DATA_DIR: copied, CARTBARN_ADMIN_API_KEY: undefined as never })
  t.after(() => second.stop())
  const key = readFileSync(join(copied, 'admin-key.txt'), 'utf8').split('\n')[0] ?? ''
  const { body } = await second.request('GET', '/devices', { key })
  assert.deepEqual(body.devices, [])
})

test('a folder without a database is rejected', async () => {
  const none = await folder.run(newSite, ['--data', folder.file('none'), '--yes'])
  assert.equal(none.code, 1)
  assert.match(none.err, /^new-site: .* has no database of a gateway/)
  assert.equal(existsSync(folder.file('none')), false)
})

test('another course gets a new TLS authority, and the one of the first is kept', async (t) => {
  const first = await startGateway()
  t.after(() => first.stop())
  const dataDir = folder.file('with-authority')
  await first.restart(() => cpSync(first.config.dataDir, dataDir, { recursive: true }))
  const config = folder.file('settings.conf')
  writeFileSync(config, `CARTBARN_DATA_DIR=${dataDir}\n`)
  assert.equal((await folder.run(tls, ['--config', config, 'init'])).code, 0)
  const authorityIn = (place: string) => readFileSync(join(place, 'tls', 'authority.pem'), 'utf8')
  const before = authorityIn(dataDir)
  const done = await folder.run(newSite, ['--config', config, '--yes'])
  assert.deepEqual([done.code, done.err], [0, ''])
  assert.match(done.out, /TLS authority of its own: each tablet must trust it once/)
  const [, kept = ''] = /is kept in (\S+);/.exec(done.out) ?? []
  assert.equal(authorityIn(kept), before)
  assert.notEqual(authorityIn(dataDir), before)
})

test('the same course on a new host is confirmed from the command line, and keeps all its data', async (t) => {
  const machine = new FakeMachine(t, { board: '10000000abcdef01' })
  const dataDir = folder.file('same')
  const g = await startGateway({ CARTBARN_DATA_DIR: dataDir }, { machineRoot: machine.root })
  t.after(() => g.stop())
  await g.register('cart-1')
  const isOther = async () => (await g.request('GET', '/health')).body.machine === 'other'
  const running = await folder.run(newSite, ['--data', dataDir, '--same-course'])
  assert.equal(running.code, 1)
  assert.match(running.err, /^new-site: another cartbarn is using the data folder/)
  await g.restart(() => machine.becomes({ board: '10000000abcdef02' }))
  assert.equal(await isOther(), true)

  const both = await folder.run(newSite, ['--data', dataDir, '--same-course', '--yes'])
  assert.equal(both.code, 2)
  await g.restart(async () => {
    const done = await folder.run(newSite, ['--data', dataDir, '--same-course'])
    assert.deepEqual([done.code, done.err], [0, ''])
  })
  assert.equal(await isOther(), false)
  assert.equal((await g.request('GET', '/devices')).body.devices.length, 1)
  const { entries } = (await g.request('GET', '/audit-log?action=machine.confirmed')).body
  assert.equal(entries.length, 1)
  await g.restart(() => machine.becomes({ board: '10000000abcdef01' }))
  assert.equal(await isOther(), true, 'it belongs to the new machine now')
})
