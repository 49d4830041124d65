import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byCart, hoursByDay, packByCart, unknownLast, useByCart, voltsByDay } from './by-cart.ts'
import { classesOf, classOf } from './classes.ts'
import { daysIn, monthAfter, monthOf } from './months.ts'

test('the month is that of the clocks of the course', () => {
  const lastSecond = Date.UTC(2026, 4, 1) - 1
  assert.equal(monthOf(lastSecond, 'UTC'), '2026-04')
  assert.equal(monthOf(lastSecond, 'Europe/Berlin'), '2026-05')
  assert.deepEqual([monthAfter('2026-01', -1), monthAfter('2026-12', 1)], ['2025-12', '2027-01'])
  assert.deepEqual([daysIn('2026-02'), daysIn('2028-02'), daysIn('2026-05')], [28, 29, 31])
})

const USE = [
  { cart: '2', date: '2026-05-01', hours_out: 4, distance: 9000, rounds: 1 },
  { cart: '2', date: '2026-05-03', hours_out: 0, distance: 0, rounds: 0 },
  { cart: '10', date: '2026-05-01', hours_out: 5, distance: 8000, rounds: 2 },
]

test('use is summed by cart and by day', () => {
  const uses = useByCart(USE)
  assert.deepEqual(
    uses.map(({ cart, hours, distanceM, rounds }) => [cart, hours, distanceM, rounds]),
    [
      ['2', 4, 9000, 1],
      ['10', 5, 8000, 2],
    ],
  )
  assert.deepEqual(
    uses
      .toReversed()
      .sort(byCart)
      .map(({ cart }) => cart),
    ['2', '10'],
  )
  assert.deepEqual(hoursByDay(USE, 3), [9, 0, 0])
})

test('a battery that loses volts from morning to morning comes first', () => {
  const day = (cart: string, ofMonth: number, rest: number | null, lowest: number | null) => ({
    cart,
    date: `2026-05-${String(ofMonth).padStart(2, '0')}`,
    rest_voltage_morning: rest,
    lowest_voltage: lowest,
  })
  const rows = [
    ...[1, 2, 3, 8].map((i) => day('1', i, 50.5, 47)),
    ...[1, 4, 8].map((i) => day('2', i, 51 - i / 10, 46 - i)),
    day('3', 2, null, null),
    ...[1, 2, 3, 4, 5, 6, 7].map((i) => day('4', i, 52 - i / 10, 47)),
  ]
  const packs = packByCart(rows)
  const [steady, falling, unknown, short] = packs
  assert.deepEqual([steady?.morningV, steady?.lowestV], [50.5, 47])
  assert.ok(Math.abs(steady?.trendV ?? 1) < 1e-9)
  assert.ok(Math.abs((falling?.trendV ?? 0) + 3) < 1e-9)
  assert.equal(falling?.lowestV, 38)
  assert.equal(short?.trendV, null, 'of less than a week')
  assert.deepEqual([unknown?.morningV, unknown?.trendV, unknown?.lowestV], [null, null, null])
  assert.deepEqual(
    packs.toSorted((a, b) => unknownLast(a.trendV, b.trendV)).map(({ cart }) => cart),
    ['2', '1', '3', '4'],
  )
  assert.deepEqual(voltsByDay(falling?.rows ?? [], 4, 'lowest_voltage'), [45, null, null, 42])
})

test('classes of traffic have round minutes as limits', () => {
  const seconds = Array.from({ length: 100 }, (_, i) => (i + 1) * 20)
  assert.deepEqual(classesOf(seconds), [900, 1200, 1800])
  assert.deepEqual(
    [0, 899, 900, 1500, 99_999].map((one) => classOf(one, [900, 1200, 1800])),
    [0, 0, 1, 2, 3],
  )
  assert.deepEqual(classesOf([]), [])
  assert.deepEqual(classesOf([3, 3]), [])
})
