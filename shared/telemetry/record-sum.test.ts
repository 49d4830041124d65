import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RowHashSum } from '#shared/sync-hash.ts'
import { addRecords } from './record-sum.ts'
import {
  BATTERY,
  type BatteryRecords,
  GPS,
  type GpsRecords,
  NO_SPEED,
  type RecordKind,
  type Records,
} from './records.ts'

function sumOf<R extends Records>(kind: RecordKind<R>, records: R, from?: number, to?: number): string {
  const sum = new RowHashSum()
  addRecords(sum, kind, records, from, to)
  return sum.toString()
}

function gps(...rows: readonly (readonly [number, number, number, number])[]): GpsRecords {
  const records = GPS.allocate(rows.length)
  for (const [i, [atMs, latE7, longE7, speedMilliKmh]] of rows.entries()) {
    records.atMs[i] = atMs
    records.latE7[i] = latE7
    records.longE7[i] = longE7
    records.speedMilliKmh[i] = speedMilliKmh
  }
  return records
}

function battery(...rows: readonly (readonly [number, number])[]): BatteryRecords {
  return {
    atMs: Float64Array.from(rows, ([atMs]) => atMs),
    voltageMv: Int32Array.from(rows, ([, voltageMv]) => voltageMv),
  }
}

const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
const timeMs = fc.oneof(
  fc.integer({ min: 1_777_000_000_000, max: 1_777_000_010_000 }),
  fc.integer({ min: 0, max: 2 ** 43 - 1 }),
)
const fix = fc.tuple(
  timeMs,
  fc.oneof(fc.integer({ min: 284_090_000, max: 284_090_100 }), int32),
  fc.oneof(fc.integer({ min: -815_800_100, max: -815_800_000 }), int32),
  fc.oneof(fc.constantFrom(NO_SPEED, 0, 100, 200), int32),
)
const fixes = fc.array(fix, { minLength: 1, maxLength: 30 })

// Hubs and gateways of all versions compare these: they can never change.
for (const [what, wanted, sum] of [
  ['nothing', '0000000000000000', () => sumOf(GPS, GPS.allocate(0))],
  ['a position at 0', '64282856aee3ffa8', () => sumOf(GPS, gps([0, 0, 0, 0]))],
  ['a voltage at 0', '3bdc83c9d55ad17c', () => sumOf(BATTERY, battery([0, 0]))],
  [
    'a position without a speed',
    '2aa8b554269ce776',
    () => sumOf(GPS, gps([1_777_636_800_123, 284_090_511, -815_801_234, NO_SPEED])),
  ],
  ['a voltage', 'f6880725fd5f3205', () => sumOf(BATTERY, battery([1_777_636_800_123, 48_210]))],
  [
    'the ends of all ranges',
    '467388b0ba1b8b07',
    () =>
      sumOf(
        GPS,
        gps([0, -900_000_000, -1_800_000_000, NO_SPEED], [2 ** 43 - 1, 900_000_000, 1_800_000_000, 2 ** 31 - 1]),
      ),
  ],
  [
    'a drive of 1,000 positions',
    'e1978dd7d71f2c54',
    () =>
      sumOf(
        GPS,
        gps(
          ...Array.from(
            { length: 1000 },
            (_, i) => [1_777_636_800_000 + i * 1000, 284_090_000 + i * 7, -815_800_000 - i * 5, i * 100] as const,
          ),
        ),
      ),
  ],
] as const) {
  test(`the sum of ${what} never changes`, () => {
    assert.equal(sum(), wanted)
  })
}

const WORD = 2n ** 32n

/** Hash as documented, one operation after another. */
function plainHash(kind: 'gps' | 'battery', words: readonly number[]): bigint {
  const word = (value: bigint | number) => BigInt.asUintN(32, BigInt(value))
  const rotate = (x: bigint, bits: bigint) => word((x << bits) | (x >> (32n - bits)))
  const spread = (x0: bigint) => {
    let x = x0 ^ (x0 >> 16n)
    x = word(x * 0x7feb352dn)
    x ^= x >> 15n
    x = word(x * 0x846ca68bn)
    return x ^ (x >> 16n)
  }
  let [a, b] = kind === 'gps' ? [0x9e3779b9n, 0x243f6a88n] : [0x7f4a7c15n, 0x85a308d3n]
  for (const value of words) {
    const w = word(value)
    a = word((a ^ w) * 0x85ebca6bn)
    a ^= a >> 15n
    b = word((b ^ rotate(w, 16n)) * 0xc2b2ae35n)
    b ^= b >> 13n
  }
  a = word(a + b * 0x9e3779b1n)
  b = word(b + rotate(a, 13n) * 0x27d4eb2fn)
  return spread(a) * WORD + spread(b)
}

function plainSum(kind: 'gps' | 'battery', rows: readonly (readonly number[])[]): string {
  const sum = new RowHashSum()
  for (const [atMs = 0, ...values] of rows) {
    sum.add(plainHash(kind, [atMs % 2 ** 32, Math.floor(atMs / 2 ** 32), ...values]))
  }
  return sum.toString()
}

test('the sum matches its documented definition', () => {
  fc.assert(
    fc.property(fixes, (rows) => {
      assert.equal(sumOf(GPS, gps(...rows)), plainSum('gps', rows))
    }),
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(timeMs, int32)), (rows) => {
      assert.equal(sumOf(BATTERY, battery(...rows)), plainSum('battery', rows))
    }),
  )
})

test('the sum is independent of order and chunks, and records are counted', () => {
  fc.assert(
    fc.property(fixes, fc.nat(), (rows, cut) => {
      const records = gps(...rows)
      const middle = cut % (rows.length + 1)
      const pieces = new RowHashSum()
      addRecords(pieces, GPS, records, middle)
      addRecords(pieces, GPS, records, 0, middle)
      assert.equal(pieces.toString(), sumOf(GPS, records))
      assert.equal(pieces.count, rows.length)
      assert.equal(sumOf(GPS, gps(...rows.toReversed())), sumOf(GPS, records))
    }),
  )
})

test('a changed value anywhere changes the sum', () => {
  const column = fc.integer({ min: 0, max: 3 })
  fc.assert(
    fc.property(fixes, fc.nat(), column, fc.integer({ min: 1, max: 2 ** 31 - 1 }), (rows, at, column, change) => {
      const row = rows[at % rows.length]
      assert.ok(row !== undefined)
      const before = sumOf(GPS, gps(...rows))
      const value = row[column] ?? 0
      row[column] = column === 0 ? (value + change) % 2 ** 43 : value ^ change
      assert.notEqual(sumOf(GPS, gps(...rows)), before)
    }),
    { numRuns: 2000 },
  )
})

test('swapped values of two records change the sum', () => {
  fc.assert(
    fc.property(fix, fix, fc.integer({ min: 0, max: 3 }), (one, other, column) => {
      const swappedOne = one.with(column, other[column] ?? 0)
      const swappedOther = other.with(column, one[column] ?? 0)
      const before = plainKey(one, other)
      fc.pre(before !== plainKey(swappedOne, swappedOther))
      assert.notEqual(sumOf(GPS, gps(tuple(swappedOne), tuple(swappedOther))), sumOf(GPS, gps(one, other)))
    }),
    { numRuns: 2000 },
  )
})

function tuple([atMs = 0, latE7 = 0, longE7 = 0, speed = 0]: readonly number[]) {
  return [atMs, latE7, longE7, speed] as const
}

/** The same for the same two records in any order. */
function plainKey(...rows: readonly (readonly number[])[]): string {
  return rows
    .map((row) => row.join())
    .sort()
    .join(';')
}

test('the same numbers of another kind have another sum', () => {
  assert.notEqual(sumOf(GPS, gps([5, 6, 0, 0])), sumOf(BATTERY, battery([5, 6])))
})
