import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DAY_MS } from '#shared/time.ts'
import {
  BATTERY,
  type BatteryRecords,
  GPS,
  type GpsRecords,
  NO_SPEED,
  type RecordKind,
  type Records,
} from './records.ts'
import { decodeRuns, encodeRuns, type TelemetryRun } from './runs.ts'

const LAST_MS = 2 ** 43 - 1
const MAX_INT32 = 2 ** 31 - 1

const intervalMs = fc.oneof(
  fc.constant(1000),
  fc.constant(1),
  fc.integer({ min: 950, max: 1050 }),
  fc.integer({ min: 1, max: 600 }).map((s) => s * 1000),
  fc.integer({ min: 1, max: 20 * 365 }).map((days) => days * DAY_MS + 1),
)
const firstMs = fc.oneof(
  fc.integer({ min: 1_777_000_000_000, max: 1_777_000_009_000 }),
  fc.integer({ min: 0, max: LAST_MS }),
  fc.constantFrom(0, LAST_MS),
)

/** Any value the kind takes: with few digits, close to another, at the ends of the range, or anywhere. */
function valuesOf(rule: (typeof GPS.rules)[number]): fc.Arbitrary<number> {
  const { min, max } = rule
  return fc.oneof(
    fc.constantFrom(min, max, max - 1, 0),
    fc.integer({ min: 48_000, max: 48_300 }),
    fc.integer({ min: 480, max: 500 }).map((tenths) => tenths * 100),
    fc.integer({ min, max }),
    ...(rule.isOptional ? [fc.constant(NO_SPEED)] : []),
  )
}

function recordsOf<R extends Records>(kind: RecordKind<R>): fc.Arbitrary<R> {
  const row = fc.tuple(intervalMs, ...kind.rules.map(valuesOf))
  const rows = fc.oneof(
    fc.array(row, { minLength: 1, maxLength: 12 }),
    // the same again and again
    fc.tuple(row, fc.integer({ min: 1, max: 300 })).map(([one, times]) => Array<typeof one>(times).fill(one)),
  )
  return fc.tuple(firstMs, rows).map(([first, all]) => {
    const times: number[] = []
    for (const [interval] of all) {
      const time = times.length === 0 ? first : (times.at(-1) ?? 0) + interval
      if (time > LAST_MS) break
      times.push(time)
    }
    const records = kind.allocate(times.length)
    records.atMs.set(times)
    for (const [c, column] of kind.columnsOf(records).entries()) {
      for (let i = 0; i < times.length; i++) column[i] = all[i]?.[c + 1] ?? 0
    }
    return records
  })
}

const hardwareId = fc.oneof(
  fc.integer({ min: 0, max: 30 }).map((i) => `cart-${i}`),
  fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/).filter((id) => id !== 'active'),
)
const gpsRun = fc
  .tuple(hardwareId, recordsOf<GpsRecords>(GPS))
  .map(([hardwareId, records]): TelemetryRun => ({ hardwareId, stream: 'gps', records }))
const batteryRun = fc
  .tuple(hardwareId, recordsOf<BatteryRecords>(BATTERY))
  .map(([hardwareId, records]): TelemetryRun => ({ hardwareId, stream: 'battery', records }))
/** Both of one device, measured at the same times. */
const bothRuns = fc.tuple(gpsRun, fc.integer({ min: 0, max: MAX_INT32 })).map(([gps, mV]): TelemetryRun[] => {
  const atMs = gps.records.atMs.slice()
  const voltageMv = Int32Array.from(atMs, (_, i) => (mV + i * 10) % 2 ** 31)
  return [gps, { hardwareId: gps.hardwareId, stream: 'battery', records: { atMs, voltageMv } }]
})
const runs = fc
  .array(
    fc.oneof(
      gpsRun.map((run) => [run]),
      batteryRun.map((run) => [run]),
      bothRuns,
    ),
    { maxLength: 25 },
  )
  .map((all) => all.flat())

function order(one: TelemetryRun, other: TelemetryRun): number {
  if (one.hardwareId !== other.hardwareId) return one.hardwareId < other.hardwareId ? -1 : 1
  return Number(one.stream === 'battery') - Number(other.stream === 'battery')
}

/** So many seconds of carts that drive, each with a position, a speed and a voltage a second. */
function drive(carts: number, seconds: number): TelemetryRun[] {
  return Array.from({ length: carts }, (_, cart): TelemetryRun[] => {
    const hardwareId = `cart-${String(cart).padStart(3, '0')}`
    const gps = GPS.allocate(seconds)
    const battery = BATTERY.allocate(seconds)
    for (let i = 0; i < seconds; i++) {
      gps.atMs[i] = 1_777_636_800_000 + cart * 3 + i * 1000
      gps.latE7[i] = 284_090_000 + ((cart * 7919) % 90_000) + i * 310 + ((i * 7919) % 61)
      gps.longE7[i] = -815_800_000 - ((cart * 104_729) % 90_000) - i * 240 - ((i * 104_729) % 67)
      gps.speedMilliKmh[i] = 14_000 + ((i * 31 + cart) % 7) * 100
      battery.voltageMv[i] = 48_000 + ((i * 17 + cart * 5) % 9) * 10
    }
    battery.atMs.set(gps.atMs)
    return [
      { hardwareId, stream: 'gps', records: gps },
      { hardwareId, stream: 'battery', records: battery },
    ]
  }).flat()
}

test('runs are decoded exactly, by hardware id, GPS before battery', () => {
  fc.assert(
    fc.property(runs, (all) => {
      assert.deepEqual(decodeRuns(encodeRuns(all)), all.toSorted(order))
    }),
    { numRuns: 500 },
  )
})

test('the order of the runs of different devices changes no byte', () => {
  const all = drive(20, 8)
  assert.deepEqual(encodeRuns(all.toReversed()), encodeRuns(all))
})

test('an empty list of runs can be encoded', () => {
  assert.deepEqual(decodeRuns(encodeRuns([])), [])
})

test('several runs of one device and kind stay in their order', () => {
  const at = (atMs: number, mV: number): TelemetryRun => ({
    hardwareId: 'cart-1',
    stream: 'battery',
    records: { atMs: Float64Array.of(atMs), voltageMv: Int32Array.of(mV) },
  })
  const all = [at(5000, 48_000), at(2000, 48_100), at(5000, 48_000)]
  assert.deepEqual(decodeRuns(encodeRuns(all)), all)
})

test('decoded runs do not share columns', () => {
  const [gps, battery] = decodeRuns(encodeRuns(drive(1, 8)))
  gps?.records.atMs.fill(0)
  assert.equal(battery?.records.atMs[0], 1_777_636_800_000)
})

test('bytes are read at any offset of a larger buffer', () => {
  const bytes = encodeRuns(drive(2, 8))
  for (let before = 0; before < 9; before++) {
    const buffer = new Uint8Array(before + bytes.length).fill(0xff)
    buffer.set(bytes, before)
    assert.deepEqual(decodeRuns(buffer.subarray(before)), drive(2, 8))
  }
})

test('8 s of 200 carts take at most 3 bytes a record, and so does an hour of one', () => {
  assert.ok(encodeRuns(drive(200, 8)).length / 3200 <= 3)
  assert.ok(encodeRuns(drive(1, 3600)).length / 7200 <= 3)
})

const good: GpsRecords = GPS.allocate(3)
good.atMs.set([1000, 2000, 3000])
for (const [what, records] of [
  ['no records', GPS.allocate(0)],
  ['the same time twice', { ...good, atMs: Float64Array.of(1, 2, 2) }],
  ['times that go back', { ...good, atMs: Float64Array.of(1, 3, 2) }],
  ['times before 1970', { ...good, atMs: Float64Array.of(-1, 3, 4) }],
  ['times after 2248', { ...good, atMs: Float64Array.of(1, 3, 2 ** 43) }],
  ['part of a millisecond', { ...good, atMs: Float64Array.of(1, 2.5, 4) }],
  ['a time that is none', { ...good, atMs: Float64Array.of(1, Number.NaN, 4) }],
  ['a latitude behind the pole', { ...good, latE7: Int32Array.of(0, 900_000_001, 0) }],
  ['a longitude of more than half a turn', { ...good, longE7: Int32Array.of(0, 0, -1_800_000_001) }],
  ['a negative speed that is not the mark', { ...good, speedMilliKmh: Int32Array.of(0, -2, 0) }],
  ['columns of different lengths', { ...good, latE7: Int32Array.of(0, 0) }],
] as const) {
  test(`${what} cannot be encoded`, () => {
    assert.throws(() => encodeRuns([{ hardwareId: 'cart-1', stream: 'gps', records }]), RangeError)
  })
}

test('more than 50,000 runs cannot be encoded', () => {
  const records = { atMs: Float64Array.of(1), voltageMv: Int32Array.of(1) }
  const run = { hardwareId: 'cart-1', stream: 'battery', records } as const
  assert.equal(decodeRuns(encodeRuns(Array(50_000).fill(run))).length, 50_000)
  assert.throws(() => encodeRuns(Array(50_001).fill(run)), RangeError)
})

test('an invalid hardware id, or more than 250,000 records, cannot be encoded', () => {
  for (const hardwareId of ['', '..', 'a/b', 'é', 'active', 'x'.repeat(65)]) {
    assert.throws(() => encodeRuns([{ hardwareId, stream: 'gps', records: good }]), RangeError)
  }
  const records = BATTERY.allocate(125_001)
  for (let i = 0; i < 125_001; i++) records.atMs[i] = i
  const run = (hardwareId: string) => ({ hardwareId, stream: 'battery', records }) as const
  assert.throws(() => encodeRuns([run('a'), run('b')]), RangeError)
  const most = encodeRuns([run('a'), { ...run('b'), records: BATTERY.view(records, 0, 124_999) }])
  assert.equal(decodeRuns(most).length, 2)
})
