import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isOfNewest } from './device-states.ts'

const AT = '2026-03-01T12:00:00.000Z'
const NEWEST = { timestamp: AT, lat: 1.5, long: 2, speed: 3 }
const SHOWN = {
  attributes: { lat: 1.5, long: 2, speed: 3, lock_status: 1 },
  lastAt: AT,
}

test('a state that ends where the history ends is right, and so is that of a device without any', () => {
  assert.ok(isOfNewest({ ...SHOWN, newest: NEWEST }))
  assert.ok(isOfNewest({ attributes: {}, lastAt: null, newest: null }))
})

for (const [what, shown] of [
  ['of an older record', { ...SHOWN, newest: { ...NEWEST, lat: 1.6 } }],
  ['with other counts', { ...SHOWN, lastAt: '2026-03-01T11:59:59.000Z', newest: NEWEST }],
  ['of nothing', { ...SHOWN, attributes: {}, newest: NEWEST }],
  ['of a record that is gone', { ...SHOWN, newest: null }],
] as const) {
  test(`a state ${what} is wrong`, () => {
    assert.equal(isOfNewest(shown), false)
  })
}
