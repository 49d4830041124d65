import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEFAULT_SITE_SETTINGS } from '#shared/site/settings.ts'
import { siteSettingsPatchSchema } from '#shared/wire/site.ts'
import { toSiteSettingsJson } from '#shared/wire/site-json.ts'
import { changesIn, likeMonday, NUMBER_DEFAULTS, NUMBER_FIELDS, patchOf, shownNumber } from './site-form.ts'

const SITE = toSiteSettingsJson({
  ...DEFAULT_SITE_SETTINGS,
  ...{ name: 'Pebble', pack: { emptyV: 47, lowV: 48.5, fullV: 51 }, trips: { minimalTripDistance: 100 } },
})
const CLOSED = { mon: null, tue: null, wed: null, thu: null, fri: null, sat: null, sun: null }
const WEEK = likeMonday({ ...CLOSED, mon: ['07:00', '20:00'] })

/** What is sent, as the gateway reads it. */
function sent(...[settings, edits]: Parameters<typeof patchOf>): unknown {
  const result = patchOf(settings, edits)
  assert.ok('patch' in result)
  return siteSettingsPatchSchema.parse(result.patch)
}

test('only what is another than before is sent', () => {
  assert.deepEqual(sent(SITE, {}), {})
  assert.deepEqual(sent(SITE, { name: 'Pebble', units: 'imperial', lock_at_closing: true }), {
    ...{ units: 'imperial', lock_at_closing: true },
  })
  const numbers = { silent_after_s: '180', zone_stay_s: '90', 'pack.low_v': '48.5', 'pack.full_v': '52' }
  assert.deepEqual(sent(SITE, { numbers }), { zone_stay_s: 90, pack: { full_v: 52 } })
})

test('a comma is a point, and an empty field is the default', () => {
  const numbers = {
    ...{
      auto_lock_after_min: ' 0,05 ',
      rest_after_s: '',
      'pack.empty_v': '',
      'trips.minimalTripDistance': ' ',
    },
    ...{ 'trips.maxAcceleration': '' },
  }
  assert.deepEqual(sent(SITE, { numbers }), {
    ...{ auto_lock_after_min: 0.05, rest_after_s: null, pack: { empty_v: null } },
    ...{ trips: { minimalTripDistance: null } },
  })
})

test('what is no number is sent by nobody', () => {
  const numbers = { zone_stay_s: 'a minute', rest_after_s: '1e999', 'pack.low_v': '48' }
  assert.deepEqual(patchOf(SITE, { numbers }), { noNumbers: ['zone_stay_s', 'rest_after_s'] })
})

test('of opening hours the days that changed are sent, all where none were known, and null to forget them', () => {
  assert.deepEqual(sent(SITE, { opening_hours: WEEK }), { opening_hours: WEEK })
  const site = { ...SITE, opening_hours: WEEK }
  const changed = { ...likeMonday(WEEK), sun: null, sat: ['08:00', '24:00'] as [string, string] }
  assert.deepEqual(sent(site, { opening_hours: changed }), {
    opening_hours: { sat: ['08:00', '24:00'], sun: null },
  })
  assert.deepEqual(sent(site, { opening_hours: likeMonday(WEEK) }), {})
  assert.deepEqual(sent(site, { opening_hours: null }), { opening_hours: null })
})

test('changes are counted as people would', () => {
  assert.equal(changesIn(SITE, { name: 'Pebble' }), 0)
  assert.equal(changesIn(SITE, { numbers: { 'pack.low_v': '', 'pack.full_v': '', zone_stay_s: '5' } }), 3)
  assert.equal(changesIn(SITE, { name: 'Beach', numbers: { zone_stay_s: 'x' } }), 1)
})

test('every number of the settings has a field that shows it, and a default', () => {
  const paths = Object.entries(SITE).flatMap(([name, value]) => {
    if (name === 'pack') return Object.keys(SITE.pack).map((one) => `pack.${one}`)
    return typeof value === 'number' ? [name] : []
  })
  assert.deepEqual(
    paths.filter((path) => !NUMBER_FIELDS.some((field) => field === path)),
    [],
  )
  assert.equal(shownNumber(SITE, 'pack.low_v'), '48.5')
  assert.equal(shownNumber(SITE, 'trips.speedThreshold'), '')
  assert.equal(NUMBER_DEFAULTS['trips.speedThreshold'], 3)
  for (const field of NUMBER_FIELDS)
    if (!field.includes('.')) assert.equal(shownNumber(SITE, field), String(NUMBER_DEFAULTS[field]))
})
