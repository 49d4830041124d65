import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { reportedDevice } from '#hub/testing/reported.ts'
import { siteScene } from '#hub/testing/scene.ts'
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

const { people, site } = siteScene()

before(() => site.latest({ devices: [reportedDevice('cart-1')] }))

const push = (settings: unknown) => site.pushEntities({ table: 'site', key: 'site', body: { settings } })
const get = async (path: string) => await people.get(`${site.path}${path}`)
const settingsOfSite = async () => await people.get(`${site.path}/site`)

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
