import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEFAULT_SITE_SETTINGS } from '#shared/site/settings.ts'
import type { Units } from '#shared/units.ts'
import { siteSettingsPatchSchema } from '#shared/wire/site.ts'
import { toSiteSettingsJson } from '#shared/wire/site-json.ts'
import {
  changesIn,
  copyMonday,
  NUMBER_FIELDS,
  patchOf,
  type SiteEdits,
  shownDefault,
  shownNumber,
} from './site-form.ts'

const SITE = toSiteSettingsJson({
  ...DEFAULT_SITE_SETTINGS,
  name: 'Pebble',
  pack: { emptyV: 47, lowV: 48.5, fullV: 51 },
  trips: { minimalTripDistance: 100 },
})
const CLOSED = { mon: null, tue: null, wed: null, thu: null, fri: null, sat: null, sun: null }
const WEEK = copyMonday({ ...CLOSED, mon: ['07:00', '20:00'] })

/** Returns the patch as the gateway receives it. */
function sent(settings: typeof SITE, edits: SiteEdits, units: Units = 'metric'): unknown {
  const result = patchOf(settings, edits, units)
  assert.ok('patch' in result)
  return siteSettingsPatchSchema.parse(result.patch)
}

test('only changed values are sent', () => {
  assert.deepEqual(sent(SITE, {}), {})
  assert.deepEqual(sent(SITE, { name: 'Pebble', units: 'imperial', lock_at_closing: true }), {
    units: 'imperial',
    lock_at_closing: true,
  })
  const numbers = { silent_after_s: '180', zone_stay_s: '90', 'pack.low_v': '48.5', 'pack.full_v': '52' }
  assert.deepEqual(sent(SITE, { numbers }), { zone_stay_s: 90, pack: { full_v: 52 } })
})

test('a comma counts as a point, and an empty field as the default', () => {
  const numbers = {
    auto_lock_after_min: ' 0,05 ',
    rest_after_s: '',
    'pack.empty_v': '',
    'trips.minimalTripDistance': ' ',
    'trips.maxAcceleration': '',
  }
  assert.deepEqual(sent(SITE, { numbers }), {
    auto_lock_after_min: 0.05,
    rest_after_s: null,
    pack: { empty_v: null },
    trips: { minimalTripDistance: null },
  })
})

test('with imperial units mph and yards are typed, and km/h and metres are sent', () => {
  assert.equal(shownNumber(SITE, 'lock_max_speed_kmh', 'imperial'), '3.7')
  assert.equal(shownNumber(SITE, 'trips.minimalTripDistance', 'imperial'), '109.4')
  assert.equal(shownDefault('trips.maxAcceleration', 'imperial'), '32.8')
  const typed = { lock_max_speed_kmh: '10', 'trips.minimalTripDistance': '200', zone_stay_s: '90' }
  assert.deepEqual(sent(SITE, { numbers: typed }, 'imperial'), {
    lock_max_speed_kmh: 16.093,
    trips: { minimalTripDistance: 182.88 },
    zone_stay_s: 90,
  })
  // a value that reads as before is not rounded to tenths of a mile
  const same = { lock_max_speed_kmh: ' 3,70 ', 'trips.minimalTripDistance': '109.4' }
  assert.deepEqual(sent(SITE, { numbers: same }, 'imperial'), {})
  assert.deepEqual(sent(SITE, { numbers: { lock_max_speed_kmh: '' } }, 'imperial'), {
    lock_max_speed_kmh: null,
  })
})

test('a field that is not a number is reported and not sent', () => {
  const numbers = { zone_stay_s: 'a minute', rest_after_s: '1e999', 'pack.low_v': '48' }
  assert.deepEqual(patchOf(SITE, { numbers }, 'metric'), { noNumbers: ['zone_stay_s', 'rest_after_s'] })
})

test('changed days of opening hours are sent, all days if there were none, and null to clear them', () => {
  assert.deepEqual(sent(SITE, { opening_hours: WEEK }), { opening_hours: WEEK })
  const site = { ...SITE, opening_hours: WEEK }
  const changed = { ...copyMonday(WEEK), sun: null, sat: ['08:00', '24:00'] as [string, string] }
  assert.deepEqual(sent(site, { opening_hours: changed }), {
    opening_hours: { sat: ['08:00', '24:00'], sun: null },
  })
  assert.deepEqual(sent(site, { opening_hours: copyMonday(WEEK) }), {})
  assert.deepEqual(sent(site, { opening_hours: null }), { opening_hours: null })
})

test('changes are counted the way users count them', () => {
  assert.equal(changesIn(SITE, { name: 'Pebble' }, 'metric'), 0)
  assert.equal(changesIn(SITE, { numbers: { 'pack.low_v': '', 'pack.full_v': '', zone_stay_s: '5' } }, 'metric'), 3)
  assert.equal(changesIn(SITE, { name: 'Beach', numbers: { zone_stay_s: 'x' } }, 'metric'), 1)
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
  assert.equal(shownNumber(SITE, 'pack.low_v', 'metric'), '48.5')
  assert.equal(shownNumber(SITE, 'trips.speedThreshold', 'metric'), '')
  assert.equal(shownDefault('trips.speedThreshold', 'metric'), '3')
  assert.equal(shownDefault('pack.low_v', 'metric'), '')
  for (const field of NUMBER_FIELDS)
    if (!field.includes('.')) assert.equal(shownNumber(SITE, field, 'metric'), shownDefault(field, 'metric'))
})
