import assert from 'node:assert/strict'
import { test } from 'node:test'
import { siteScene } from '#hub/testing/scene.ts'

const NONE = { type: 'FeatureCollection', version: 0, features: [] }
const BARN = {
  type: 'Feature',
  id: 'barn',
  geometry: { type: 'Point', coordinates: [-81.6, 28.4] },
  properties: { name: 'Barn', type: 'parking', enabled: true, visible: false, radius_m: 25, groups: [2] },
}

const { people, site } = siteScene()

const push = (body: unknown) => site.pushEntities({ table: 'zone_set', key: 'site', body })
const zones = async () => await people.get(`${site.path}/zones`)

test('the zones of a site are those of its gateway, and none before it has sent any', async () => {
  assert.deepEqual(await zones(), NONE)
  await push({ version: 3, zones: [BARN], updated_at_ms: 1 })
  assert.deepEqual(await zones(), shown(BARN, { switched: null }))
})

test('a zone that is switched is shown as it holds now, and until when', async () => {
  const by = { user_id: 'u', name: 'Jo' }
  const switches = { barn: { was_enabled: false, since_ms: 0, until_ms: 1_000, by } }
  await push({ version: 3, zones: [BARN], switches, updated_at_ms: 1 })
  const switched = { until: '1970-01-01T00:00:01.000Z', by }
  const expected = shown(BARN, { switched, enabled_before: false, switched_at: '1970-01-01T00:00:00.000Z' })
  assert.deepEqual(await zones(), expected)
})

function shown({ properties, ...feature }: typeof BARN, more: object) {
  const features = [{ ...feature, properties: { ...properties, ...more } }]
  return { type: 'FeatureCollection', version: 3, features }
}

const HOSTILE: Record<string, unknown> = {
  'no zones': { version: 1 },
  'text for zones': { version: 1, zones: 'x' },
  'a zone without a geometry': { version: 1, zones: [{ ...BARN, geometry: null }] },
  'switches that are none': { version: 1, zones: [BARN], switches: [1] },
  'a version that is no number': { version: '1', zones: [] },
  'a gone set': null,
}
for (const [what, body] of Object.entries(HOSTILE)) {
  test(`a site that sends ${what} has none`, async () => {
    await push({ version: 3, zones: [BARN], updated_at_ms: 1 })
    await push(body)
    assert.deepEqual(await zones(), NONE)
  })
}

test('a user without the site, and a site that is not there', async () => {
  assert.equal((await people.request('GET', '/sites/nowhere/zones')).status, 404)
})

test('events of zones of the site are of no group', async () => {
  const event = (seq: number, eventId: string, groupId: number) => ({
    seq,
    event_id: eventId,
    hardware_id: 'cart-1',
    event: 'enter',
    group_id: groupId,
    zone_id: 'barn',
    zone_name: 'Barn',
    zone_type: 'parking',
    at_ms: seq,
    lat: 1,
    long: 1,
  })
  await site.pushRows('geofence_events', [event(1, 'a', 0), event(2, 'b', 2)])
  const { events } = await people.get(`${site.path}/geofence-events`)
  const shown = events.map((one: { event_id: string; group_id: number | null }) => [one.event_id, one.group_id])
  assert.deepEqual(shown, [
    ['b', 2],
    ['a', null],
  ])
})
