import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cartJson } from '#dashboard/testing/cart-json.ts'
import { recordsToCsv } from '../csv.ts'
import { toFleetCsv } from './fleet-csv.ts'

const ZONE = { zone_id: 'hole-7', name: 'Hole 7', type: 'hole', since: '2026-05-01T12:00:00.000Z' } as const
const HERE = { language: 'en', timeZone: 'Europe/Berlin' } as const

test('a fleet as CSV has a mark, a head and a row a cart', () => {
  const [head, row, end] = toFleetCsv([cartJson('17', { note: 'A "new", one' })], HERE).split('\r\n')
  assert.ok(head?.startsWith('\u{feff}cart,state,hole,zones,lat,long,'))
  assert.equal(row, '17,out,,,28.41,-81.58,false,,,,false,2026-05-01 14:00:00,,"A ""new"", one",golf_cart')
  assert.equal(end, '')
})

test('a text that a spreadsheet would run stays a text', () => {
  const [, row] = toFleetCsv([cartJson('=1+1', { note: '@SUM(A1)\nx' })], HERE).split('\r\n')
  assert.ok(row?.startsWith("'=1+1,"))
  assert.ok(row?.endsWith(`"'@SUM(A1)\nx",golf_cart`))
})

test('a German spreadsheet gets semicolons and decimal commas, in fleet and reports', () => {
  const cart = cartJson('17', { note: 'a;b', zones: [{ ...ZONE, hole: 7 }] })
  const [, row] = toFleetCsv([cart], { ...HERE, language: 'de' }).split('\r\n')
  assert.equal(row, '17;out;7;Hole 7;28,41;-81,58;false;;;;false;2026-05-01 14:00:00;;"a;b";golf_cart')
  const rows = [{ cart: '1', hours_out: 1.5, rest: null }]
  assert.equal(recordsToCsv(rows, 'de'), '\u{feff}cart;hours_out;rest\r\n1;1,5;\r\n')
  assert.equal(recordsToCsv(rows, 'en'), '\u{feff}cart,hours_out,rest\r\n1,1.5,\r\n')
})
