import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findTimeZone, listCountries, unitsOf } from './set-up.ts'

test('a time zone is found by its name or by its city, in any case', () => {
  for (const text of ['Europe/Berlin', 'berlin', ' Berlin ', 'europe/berlin'])
    assert.equal(findTimeZone(text), 'Europe/Berlin')
  assert.equal(findTimeZone('New York'), 'America/New_York')
  for (const text of ['', 'Potsdam', 'Ber', '/Berlin', '+02:00']) assert.equal(findTimeZone(text), undefined, text)
})

test('countries have their names in the language, and their time zones', () => {
  const german = listCountries('de')
  assert.deepEqual(german.find(({ code }) => code === 'AT')?.timeZones, ['Europe/Vienna'])
  assert.equal(german.find(({ code }) => code === 'AT')?.name, 'Österreich')
  assert.ok(german.length > 200)
  for (const former of ['DD', 'SU', 'YU', 'QQ']) assert.ok(!german.some(({ code }) => code === former), former)
})

test('only courses of a few countries measure in miles', () => {
  assert.deepEqual(['US', 'GB', 'DE', ''].map(unitsOf), ['imperial', 'imperial', 'metric', 'metric'])
})
