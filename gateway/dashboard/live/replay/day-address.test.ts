import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adjacentDay, dayPath, readDayPath } from './day-address.ts'

test('the address identifies the cart and the day', () => {
  assert.deepEqual(readDayPath('day'), { cart: null, date: null, atMs: null })
  assert.deepEqual(readDayPath(null), { cart: null, date: null, atMs: null })
  assert.deepEqual(readDayPath('day/17'), { cart: '17', date: null, atMs: null })
  assert.deepEqual(readDayPath('day/17/2026-05-01'), { cart: '17', date: '2026-05-01', atMs: null })
})

test('any cart name survives a round trip through the address', () => {
  for (const cart of ['17', 'A/1', '/', '2026-05-01', 'a/2026-05-01', 'a@1', '<b>', 'ü ö'])
    for (const atMs of [null, 0, 1_777_618_800_000])
      assert.deepEqual(readDayPath(dayPath(cart, '2026-03-29', atMs)), { cart, date: '2026-03-29', atMs })
})

test('text that is not a calendar date is part of the name', () => {
  assert.deepEqual(readDayPath('day/17/2026-02-30'), { cart: '17/2026-02-30', date: null, atMs: null })
  for (const last of ['2026-05-01@', '2026-05-01@x', '2026-05-01@-1', '@5'])
    assert.deepEqual(readDayPath(`day/17/${last}`), { cart: `17/${last}`, date: null, atMs: null })
})

test('days are adjacent across months, years and clock changes', () => {
  assert.equal(adjacentDay('2026-03-01', -1), '2026-02-28')
  assert.equal(adjacentDay('2026-12-31', 1), '2027-01-01')
  assert.equal(adjacentDay('2026-03-29', 1), '2026-03-30')
  assert.equal(adjacentDay('9999-12-31', 1), '9999-12-31')
})
