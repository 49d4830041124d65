import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { COURSE_NAME } from './course-settings.ts'
import { planFleet } from './fleet-plan.ts'
import { groupFleet, setUpCourse } from './set-up.ts'

const MORNING_MS = Date.UTC(2026, 4, 7, 10, 30)
const EVENING_MS = Date.UTC(2026, 4, 7, 22, 30)

async function start(t: { after(end: () => Promise<void>): void }): Promise<TestGateway> {
  const gateway = await startGateway()
  t.after(() => gateway.stop())
  return gateway
}

async function setUp(gateway: TestGateway, nowMs: number, carts = 20) {
  const plan = planFleet({ seed: 1, carts, center: { lat: 28.41, long: -81.58 }, prefix: 't' })
  const { signal } = new AbortController()
  await setUpCourse(plan, { gatewayUrl: gateway.http, adminKey: ADMIN_KEY }, { nowMs, signal })
  await groupFleet(plan, { gatewayUrl: gateway.http, adminKey: ADMIN_KEY }, signal)
  const [{ body: site }, { body: zones }] = [
    await gateway.request('GET', '/site'),
    await gateway.request('GET', '/zones'),
  ]
  return { site, zones }
}

test('an empty gateway gets the zones and the settings of the simulated course', async (t) => {
  const { site, zones } = await setUp(await start(t), MORNING_MS)
  assert.deepEqual([site.name, site.time_zone, site.auto_lock_after_min], [COURSE_NAME, 'Etc/GMT', 10])
  assert.ok(site.pack.low_v > site.pack.empty_v && site.opening_hours.sun !== null)
  assert.deepEqual(
    zones.features.slice(0, 2).map(({ properties: { type } }: { properties: { type: string } }) => type),
    ['parking', 'boundary'],
  )
})

test('the simulated course has a map with eighteen holes, greens and fairways that can be switched on', async (t) => {
  const gateway = await start(t)
  const { zones } = await setUp(gateway, MORNING_MS)
  const { counts } = (await gateway.request('GET', '/course')).body
  assert.deepEqual([counts.holes, counts.greens], [18, 18])
  const of = (type: string, isEnabled: boolean) =>
    zones.features.filter(
      ({ properties }: { properties: { type: string; enabled: boolean; hole?: number } }) =>
        properties.type === type && properties.enabled === isEnabled && properties.hole !== undefined,
    ).length
  assert.deepEqual([of('hole', true), of('alert', true), of('alert', false)], [18, 18, 18])
})

test('its carts are in one group, so that they get the zones', async (t) => {
  const gateway = await start(t)
  const register = (id: string) =>
    gateway.request('POST', '/devices', { body: { hardware_id: id, device_type: 'teebox' } })
  for (const id of ['t-tb-001', 'another']) assert.equal((await register(id)).status, 201)
  for (const nowMs of [MORNING_MS, EVENING_MS]) await setUp(gateway, nowMs)
  const { body: groups } = await gateway.request('GET', '/groups')
  assert.deepEqual(
    groups.map(({ name, device_count }: { name: string; device_count: number }) => [name, device_count]),
    [['All carts', 1]],
  )
})

test('a fleet of thirty has vehicles of other kinds', async (t) => {
  const gateway = await start(t)
  for (const id of ['t-tb-027', 't-tb-028'])
    await gateway.request('POST', '/devices', { body: { hardware_id: id, device_type: 'teebox' } })
  await setUp(gateway, MORNING_MS, 30)
  const { counts, counts_by_kind } = (await gateway.request('GET', '/carts')).body
  assert.deepEqual([counts.total, Object.keys(counts_by_kind)], [1, ['ranger']])
})

test('an existing simulated course restarts its mid-morning, and keeps all else', async (t) => {
  const gateway = await start(t)
  const first = await setUp(gateway, MORNING_MS)
  await gateway.request('PATCH', '/site', { body: { auto_lock_after_min: 3 } })
  const { site, zones } = await setUp(gateway, EVENING_MS)
  assert.deepEqual([site.time_zone, site.auto_lock_after_min], ['Etc/GMT+12', 3])
  assert.equal(zones.version, first.zones.version)
})

test('a real course keeps its settings and its zones', async (t) => {
  const gateway = await start(t)
  const settings = { name: 'Pebble Creek', time_zone: 'Europe/Berlin' }
  const { body: before } = await gateway.request('PATCH', '/site', { body: settings })
  const barn = {
    type: 'Feature',
    id: 'barn',
    properties: { name: 'Barn', type: 'parking', radius_m: 30 },
    geometry: { type: 'Point', coordinates: [11, 48] },
  }
  const headers = { 'If-Match': '*' }
  const drawn = { type: 'FeatureCollection', features: [barn] }
  assert.equal((await gateway.request('PUT', '/zones', { body: drawn, headers })).status, 200)
  const { site, zones } = await setUp(gateway, MORNING_MS)
  assert.deepEqual(site, before)
  assert.equal(zones.features.length, 1)
  assert.deepEqual((await gateway.request('GET', '/course')).body.features, [])
  assert.deepEqual((await gateway.request('GET', '/groups')).body, [])
})

test('most of its carts are given out, a party waits for one, and a service is due', async (t) => {
  const gateway = await start(t)
  for (let i = 1; i <= 6; i++)
    await gateway.request('POST', '/devices', {
      body: { hardware_id: `t-tb-00${i}`, device_type: 'teebox', cart: `${i}` },
    })
  await setUp(gateway, MORNING_MS, 6)
  const { parties } = (await gateway.request('GET', '/parties')).body
  const states = parties.map(({ state }: { state: string }) => state)
  assert.ok(states.includes('out') && states.includes('booked'), states.join(' '))
  const { due } = (await gateway.request('GET', '/service-due')).body
  assert.deepEqual(
    due.slice(0, 3).map(({ state }: { state: string }) => state),
    ['due', 'soon', 'ok'],
  )
})
