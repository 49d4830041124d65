import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ANY_DATABASE } from '#hub/testing/databases.ts'
import { openHub, type TestHub } from '#hub/testing/open-hub.ts'
import { People } from '#hub/testing/people.ts'
import { rowsContent, type SiteClient } from '#hub/testing/site-client.ts'
import { DEFAULT_SITE_SETTINGS } from '#shared/site/settings.ts'
import { patchSiteSettings, toSiteSettingsJson } from '#shared/wire/site-json.ts'

const DEFAULTS = toSiteSettingsJson(DEFAULT_SITE_SETTINGS)
const SETTINGS = toSiteSettingsJson(
  patchSiteSettings(DEFAULT_SITE_SETTINGS, {
    name: 'Pebble',
    time_zone: 'Europe/Berlin',
    opening_hours: { mon: ['07:00', '20:00'] },
    trips: { minimalTripDistance: 100 },
  }),
)

let hub: TestHub
let people: People
let site: SiteClient
let seq = 0

before(async () => {
  hub = await openHub(ANY_DATABASE)
  people = new People(hub)
  site = await hub.site()
  await site.latest({
    devices: [
      {
        hardware_id: 'cart-1',
        short_id: 's-1',
        device_type: 'teebox',
        name: null,
        cart: null,
        attributes: {},
        is_online: true,
        group_id: null,
        created_at: '2026-05-01T08:30:00.000Z',
        updated_at: '2026-05-01T08:30:00.000Z',
      },
    ],
  })
})
after(() => hub.stop())

const push = (settings: unknown) =>
  site.push(site.part('entities', rowsContent([{ seq: ++seq, table: 'site', key: 'site', body: { settings } }])))
const get = async (path: string) => (await people.request('GET', `/sites/${site.siteId}${path}`)).body
const settingsOfSite = async () => (await people.request('GET', `/sites/${site.siteId}/site`)).body

test('the settings of a site are those of its gateway, and the defaults before it has sent any', async () => {
  assert.deepEqual(await settingsOfSite(), DEFAULTS)
  await push(SETTINGS)
  assert.deepEqual(await settingsOfSite(), SETTINGS)
})

test('its trips and days go by them', async () => {
  await push(SETTINGS)
  const { configUsed } = (await get('/trips?from=2026-05-01T00:00:00Z&to=2026-05-02T00:00:00Z')).summary
  assert.deepEqual([configUsed.minimalTripDistance, configUsed.speedThreshold], [100, 3])
  const summary = await get('/trips/cart-1/summary?date=2026-03-29')
  assert.deepEqual([summary.from, summary.to], ['2026-03-28T23:00:00.000Z', '2026-03-29T21:59:59.999Z'])
})

for (const settings of [null, 'x', [], { name: 7 }, { ...SETTINGS, time_zone: 'Mars/Olympus' }]) {
  test(`a site that sends ${JSON.stringify(settings).slice(0, 20)} has the defaults`, async () => {
    await push(settings)
    assert.deepEqual(await settingsOfSite(), DEFAULTS)
  })
}
