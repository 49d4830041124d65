import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cartJson } from '#dashboard/testing/cart-json.ts'
import { toFleetCsv } from './fleet-csv.ts'

test('a fleet as CSV has a mark, a head and a row a cart', () => {
  const [head, row, end] = toFleetCsv([cartJson('17', { note: 'A "new", one' })]).split('\r\n')
  assert.ok(head?.startsWith('\u{feff}cart,state,zones,lat,long,'))
  assert.equal(row, '17,out,,28.41,-81.58,false,,,,false,2026-05-01T12:00:00.000Z,,"A ""new"", one"')
  assert.equal(end, '')
})

test('a text that a spreadsheet would run stays a text', () => {
  const [, row] = toFleetCsv([cartJson('=1+1', { note: '@SUM(A1)\nx' })]).split('\r\n')
  assert.ok(row?.startsWith("'=1+1,"))
  assert.ok(row?.endsWith(`"'@SUM(A1)\nx"`))
})
