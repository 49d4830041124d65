import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { backupPlaceOf } from '#gateway/offline/backup-places.ts'
import { backUp } from '#gateway/offline/backups.ts'
import { restoreBackup } from '#gateway/offline/restore.ts'
import { ANY_DATABASE } from '#hub/testing/databases.ts'
import { openHub, type TestHub } from '#hub/testing/open-hub.ts'
import { People } from '#hub/testing/people.ts'
import { CommandFolder } from '#scripts/testing/command-folder.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { toIso } from '#shared/time.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { runExport } from './export/run-export.ts'

/** Hardware id of devices that have no other name. */
const MAC = 'AA:BB:CC:11:22:33'
/** A value that a script derives from the time, and the largest possible one. */
const GROUPS = [1_777_636_800_000, Number.MAX_SAFE_INTEGER]
const KEY = 'an enrolment key of the site'

const folder = new CommandFolder()
let hub: TestHub
let people: People
let siteId: string
let g: TestGateway

before(async () => {
  hub = await openHub(ANY_DATABASE)
  people = new People(hub)
  const site = await hub.hub.sites.add('MAC')
  siteId = site.siteId
  g = await startGateway({
    CARTBARN_UPSTREAM_URL: hub.hub.url(),
    CARTBARN_UPSTREAM_KEY: site.key,
    CARTBARN_SITE_ID: siteId,
    CARTBARN_UPSTREAM_HOLD_MS: '0',
    CARTBARN_ENROLMENT_KEY: KEY,
  })
})
after(async () => {
  await g.stop()
  await hub.stop()
  folder.remove()
})

const get = async (path: string, headers: Record<string, string> = {}) => {
  const answer = await g.request('GET', path, { headers })
  assert.equal(answer.status, 200, `${path}: ${JSON.stringify(answer.body)}`)
  return answer
}

test('a device with colons in its id enrols, reports, obeys, and is read at the head office', async () => {
  const path = `/devices/${encodeURIComponent(MAC)}`
  const device = await g.connect(MAC, KEY)
  const received: Record<string, string> = {}
  device.on('message', (topic, payload) => {
    received[topic] = payload.toString()
  })
  await device.subscribeAsync([`dev/${MAC}/key`, `dev/${MAC}/cmd`, `dev/${MAC}/cfg`], { qos: 1 })
  await device.publishAsync(`dev/${MAC}/st`, '{"online":true,"type":"cartcaddie"}', { qos: 1, retain: true })
  await eventually(() => received[`dev/${MAC}/key`] !== undefined, 'a password')
  const { password } = JSON.parse(received[`dev/${MAC}/key`] ?? '')
  await device.publishAsync(`dev/${MAC}/ack`, '{"key":1}', { qos: 1 })
  assert.equal((await get(path)).body.hardware_id, MAC)
  assert.equal((await get(`/devices/${MAC}`)).body.is_online, true)

  const atMs = Date.now() - 1000
  const sample = { ts: atMs, lat: 28.41, long: -81.58, battery_voltage: 50.9 }
  await device.publishAsync(`dev/${MAC}/tlm`, JSON.stringify(sample), { qos: 1 })
  const event = { eid: '17:42', event: 'unlock', source: 'rfid', code: '04A1', ts: atMs }
  await device.publishAsync(`dev/${MAC}/evt`, JSON.stringify(event), { qos: 1 })
  for (const query of [`hardware_ids=${MAC}`, `hardware_ids[]=${MAC}`, `search=${MAC.slice(0, 5)}`])
    assert.equal((await get(`/devices?${query}`)).body.devices.length, 1, query)
  assert.equal((await get(`/lock-events?hardware_id=${MAC}`)).body.events.length, 1)

  for (const group of GROUPS) {
    const made = await g.request('POST', '/groups', { body: { name: 'G', group_id: group } })
    assert.deepEqual([made.status, made.body.group_id], [201, group])
    const put = await g.request('PUT', `/groups/${group}${path}`)
    assert.deepEqual([put.status, put.body.group_id], [200, group])
    await eventually(() => JSON.parse(received[`dev/${MAC}/cfg`] ?? '{}').group_id === group, 'its group')
    assert.equal((await get(`/devices?group_id=${group}`)).body.devices[0].group_id, group)
    const zone = {
      type: 'Feature',
      id: 'z',
      properties: { name: 'Z', type: 'alert', radius_m: 50 },
      geometry: { type: 'Point', coordinates: [-81.58, 28.41] },
    }
    const body = { type: 'FeatureCollection', features: [zone] }
    const zones = await g.request('PUT', `/groups/${group}/geofences`, { body })
    assert.deepEqual([zones.status, zones.body.published.teebox.topic], [200, `sit/${group}/sz`])
    const { body: command } = await g.request('POST', `${path}/commands`, {
      body: { command: 'fetch_geofences' },
    })
    await eventually(() => received[`dev/${MAC}/cmd`]?.includes(command.command_id) === true, 'the command')
    const { url } = JSON.parse(received[`dev/${MAC}/cmd`] ?? '').params
    const { pathname, search } = new URL(url, 'http://x')
    const zonesOf = await g.request('GET', `${pathname}${search}`, { key: null })
    assert.deepEqual([zonesOf.status, zonesOf.body.group_id], [200, group])
    const ack = { id: command.command_id, st: 'completed' }
    await device.publishAsync(`dev/${MAC}/ack`, JSON.stringify(ack), { qos: 1 })
    await eventually(
      async () => (await get(`/commands/${command.command_id}`)).body.status === 'completed',
      'its completion',
    )
  }
  const next = await g.request('POST', '/groups', { body: { name: 'Next' } })
  assert.deepEqual([next.status, next.body.code], [409, 'no_group_id_left'])

  await device.endAsync()
  await (await g.connect(MAC, password)).endAsync()

  const site = `/sites/${siteId}`
  await eventually(
    async () => {
      const { status, body } = await people.request('GET', `${site}${path}/gps`)
      const events = await people.request('GET', `${site}/lock-events?hardware_id=${MAC}`)
      const groups = await people.request('GET', `${site}/groups`)
      const shown = await people.request('GET', `${site}/devices?group_id=${GROUPS[1]}`)
      const isThere = status === 200 && body.length === 1 && body[0].hardware_id === MAC
      return (
        isThere &&
        events.body.events.length === 1 &&
        groups.body.at(-1)?.group_id === GROUPS[1] &&
        shown.body.devices.length === 1
      )
    },
    'all of it at the head office',
    30_000,
  )
  const file = await people.request('GET', `${site}${path}/gps?format=csv`)
  assert.equal(file.headers.get('content-disposition'), 'attachment; filename="gps-AA=BB=CC=11=22=33.csv"')
})

test('files of such a device have names that every system takes, and two devices have two', async () => {
  const range = `from=${toIso(Date.now() - 86_400_000)}&to=${toIso(Date.now())}`
  for (const [path, name] of [
    [`/devices/${MAC}/gps?format=gpx`, 'gps-AA=BB=CC=11=22=33.gpx'],
    [`/devices/${MAC}/battery?format=csv`, 'battery-AA=BB=CC=11=22=33.csv'],
    [`/devices/${encodeURIComponent(MAC)}/commands?format=csv`, 'devices-AA=BB=CC=11=22=33-commands.csv'],
    [`/trips/${MAC}?${range}&format=csv`, 'trips-AA=BB=CC=11=22=33.csv'],
    [`/trips/${MAC}?${range}&format=geojson`, 'trips-AA=BB=CC=11=22=33.geojson'],
  ]) {
    const { headers } = await get(path ?? '')
    assert.equal(headers.get('content-disposition'), `attachment; filename="${name}"`)
  }
  await g.register('AA-BB-CC-11-22-33')
  const exported = await folder.run(runExport, ['--url', g.http, '--all', '--out', 'all', '--format', 'csv'])
  assert.equal(exported.code, 0, exported.err)
  assert.ok(readdirSync(folder.file('all')).includes('gps-AA=BB=CC=11=22=33.csv'))
})

test('a backup of such a device comes back', async () => {
  const set = folder.file('set.backup')
  const { dataDir } = g.config
  await backUp({ dataDir, to: set, atMs: Date.now() })
  const restored = folder.file('restored')
  await restoreBackup({ dataDir: restored, from: backupPlaceOf(set, 'read'), atMs: Date.now() })
  const other = await startGateway({ CARTBARN_DATA_DIR: restored })
  try {
    const { body } = await other.request('GET', `/devices/${MAC}`)
    assert.deepEqual([body.hardware_id, body.group_id, body.attributes.lat], [MAC, GROUPS[1], 28.41])
    assert.equal((await other.request('GET', `/devices/${MAC}/gps`)).body.length, 1)
  } finally {
    await other.stop()
  }
})
