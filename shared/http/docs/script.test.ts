import assert from 'node:assert/strict'
import { test } from 'node:test'

// by its address, as it has no types: it is a script of a page
const { fits } = await import(new URL('script.mjs', import.meta.url).href)

for (const [query, isFound] of [
  ['', true],
  ['device_not_found', true],
  ['404 device', true],
  ['  DEVICE  short', true],
  ['device 405', false],
] as const) {
  test(`the filter "${query}" ${isFound ? 'finds' : 'does not find'} a text by all its words`, () => {
    assert.equal(fits('device_not_found 404 No device has this hardware_id or short_id.', query), isFound)
  })
}
