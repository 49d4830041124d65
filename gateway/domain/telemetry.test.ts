import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DAY_MS, MINUTE_MS } from '#shared/time.ts'
import { isPlausibleTime } from './event-time.ts'
import { parseTelemetry, type Scalar, UnreadablePayloadError } from './telemetry.ts'

const NOW_MS = Date.UTC(2026, 4, 1, 12)
const MAX_AHEAD_MS = 5 * MINUTE_MS
const YEAR_2020_MS = Date.UTC(2020, 0, 1)

type Drops = Record<string, number>

function parse(payload: unknown) {
  const drops: Drops = {}
  const samples = parseTelemetry(payload, NOW_MS, (reason, count = 1) => {
    drops[reason] = (drops[reason] ?? 0) + count
  })
  return { samples, drops }
}

function times(payload: unknown): number[] {
  return parse(payload).samples.map(({ atMs }) => atMs)
}

test('one message may produce a GPS record and a battery record', () => {
  const ts = NOW_MS - 1000
  const values = {
    lat: 48.1234567,
    long: -11.7654321,
    speed: 12.345,
    battery_voltage: 51.234,
    lock_status: true,
  }
  assert.deepEqual(parse({ ts, ...values }), {
    samples: [{ atMs: ts, lat: 48.1234567, long: -11.7654321, speedKmh: 12.345, voltageV: 51.234, values }],
    drops: {},
  })
})

test('any subset of fields is valid, and missing or null fields change nothing', () => {
  const { samples, drops } = parse({ battery_voltage: 12, lat: null, long: null, speed: null })
  assert.deepEqual(samples[0]?.values, { battery_voltage: 12 })
  assert.ok(Number.isNaN(samples[0]?.lat))
  assert.ok(Number.isNaN(samples[0]?.speedKmh))
  assert.deepEqual(drops, {})
})

test('an empty message produces no sample', () => {
  for (const payload of [{}, { ts: NOW_MS }, { ts: NOW_MS, lat: null }, [], { s: [] }, [{}]]) {
    assert.deepEqual(parse(payload), { samples: [], drops: {} })
  }
})

test('positions are stored to 1e-7 degree, speed and voltage to 0.001', () => {
  const [sample] = parse({
    lat: 1.23456789,
    long: -1.23456789,
    speed: 1.23456,
    battery_voltage: 1.23456,
  }).samples
  assert.deepEqual(sample?.values, { lat: 1.2345679, long: -1.2345679, speed: 1.235, battery_voltage: 1.235 })
})

for (const [what, fields, kept, drops] of [
  ['the poles and the date line', { lat: -90, long: 180 }, { lat: -90, long: 180 }, {}],
  ['a latitude out of range', { lat: 90.1, long: 1 }, {}, { invalid_position: 1 }],
  ['a longitude out of range', { lat: 1, long: -180.1 }, {}, { invalid_position: 1 }],
  ['exactly 0,0', { lat: 0, long: 0 }, {}, { invalid_position: 1 }],
  ['0 latitude alone', { lat: 0, long: 1 }, { lat: 0, long: 1 }, {}],
  ['text as a position', { lat: '1', long: 1 }, {}, { invalid_position: 1 }],
  ['a latitude alone', { lat: 1 }, {}, { incomplete_position: 1 }],
  ['a longitude alone', { long: 1, lat: null }, {}, { incomplete_position: 1 }],
  ['speed 0', { speed: 0 }, { speed: 0 }, {}],
  ['speed 200', { speed: 200 }, { speed: 200 }, {}],
  ['speed below 0', { speed: -0.1 }, {}, { invalid_speed: 1 }],
  ['speed over 200', { speed: 200.1 }, {}, { invalid_speed: 1 }],
  ['text as speed', { speed: '12' }, {}, { invalid_speed: 1 }],
  ['120 V', { battery_voltage: 120 }, { battery_voltage: 120 }, {}],
  ['a voltage below 0', { battery_voltage: -1 }, {}, { invalid_battery_voltage: 1 }],
  ['a voltage over 120', { battery_voltage: 121 }, {}, { invalid_battery_voltage: 1 }],
  ['lock_status true', { lock_status: true }, { lock_status: true }, {}],
  ['lock_status 0', { lock_status: 0 }, { lock_status: 0 }, {}],
  ['lock_status 2', { lock_status: 2 }, {}, { invalid_lock_status: 1 }],
  ['lock_status as text', { lock_status: 'locked' }, {}, { invalid_lock_status: 1 }],
  ['a nested value', { a: { b: 1 }, c: [1] }, {}, { nested_attribute: 2 }],
  ['a name with a hyphen', { 'a-b': 1 }, {}, { invalid_attribute_name: 1 }],
  ['an empty name', { '': 1 }, {}, { invalid_attribute_name: 1 }],
  ['a name of 65', { ['x'.repeat(65)]: 1 }, {}, { invalid_attribute_name: 1 }],
] as [string, object, object, Drops][]) {
  test(`${what}: kept ${JSON.stringify(kept)}, and the rest of the sample too`, () => {
    const { samples, drops: counted } = parse({ fuel: 7, ...fields })
    assert.deepEqual(samples[0]?.values, { fuel: 7, ...kept })
    assert.deepEqual(counted, drops)
  })
}

test('lat and long are both there or both absent', () => {
  const [sample] = parse({ lat: 91, long: 5, speed: 3 }).samples
  assert.ok(Number.isNaN(sample?.lat) && Number.isNaN(sample?.long))
  assert.equal(sample?.speedKmh, 3)
})

test('other scalars become attributes; text is cut at 256 characters', () => {
  const [sample] = parse({
    fuel: 0.5,
    mode: 'go',
    on: false,
    ['x'.repeat(64)]: 1,
    long_text: 'y'.repeat(300),
  }).samples
  assert.deepEqual(sample?.values, {
    fuel: 0.5,
    mode: 'go',
    on: false,
    ['x'.repeat(64)]: 1,
    long_text: 'y'.repeat(256),
  })
})

test('of more than 32 other attributes the first 32 are accepted, the named ones always', () => {
  const others = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`a${i}`, i]))
  const { samples, drops } = parse({
    ...others,
    speed: 3,
    lat: 1,
    long: 2,
    battery_voltage: 3,
    lock_status: 0,
  })
  assert.equal(Object.keys(samples[0]?.values ?? {}).length, 32 + 5)
  assert.equal(samples[0]?.values.speed, 3)
  assert.deepEqual(drops, { too_many_attributes: 8 })
})

test('names every object inherits are attributes like others, except __proto__', () => {
  const { samples, drops } = parse(JSON.parse('{"constructor":1,"toString":"x","__proto__":{"a":1}}'))
  const values = samples[0]?.values ?? {}
  assert.deepEqual(Object.keys(values).sort(), ['constructor', 'toString'])
  assert.equal(Object.getPrototypeOf(values), Object.prototype)
  assert.deepEqual(drops, { invalid_attribute_name: 1 })
})

for (const [what, ts, atMs, drops] of [
  ['none', undefined, NOW_MS, {}],
  ['null', null, NOW_MS, {}],
  ['its own', NOW_MS - 5000, NOW_MS - 5000, {}],
  ['a fraction', NOW_MS - 5000.4, NOW_MS - 5000, {}],
  ['years late', Date.UTC(2021, 5, 1), Date.UTC(2021, 5, 1), {}],
  ['the first moment of 2020', YEAR_2020_MS, YEAR_2020_MS, {}],
  ['5 minutes ahead', NOW_MS + MAX_AHEAD_MS, NOW_MS + MAX_AHEAD_MS, {}],
  ['more than 5 minutes ahead', NOW_MS + MAX_AHEAD_MS + 1, NOW_MS, { implausible_time: 1 }],
  ['before 2020', YEAR_2020_MS - 1, NOW_MS, { implausible_time: 1 }],
  ['0', 0, NOW_MS, { implausible_time: 1 }],
  ['seconds instead of milliseconds', NOW_MS / 1000, NOW_MS, { implausible_time: 1 }],
  ['a text with a zone', '2026-05-01T06:00:00-05:00', NOW_MS - 60 * MINUTE_MS, {}],
  ['a text without a zone', '2026-05-01T12:00:00', NOW_MS, { implausible_time: 1 }],
  ['a date alone', '2026-05-01', NOW_MS, { implausible_time: 1 }],
] as [string, unknown, number, Drops][]) {
  test(`the time of a single sample is ${what}: it is kept at ${new Date(atMs).toISOString()}`, () => {
    assert.deepEqual(times({ ts, speed: 1 }), [atMs])
    assert.deepEqual(parse({ ts, speed: 1 }).drops, drops)
  })
}

test('a sample of a batch with an implausible time is discarded, and the others are kept', () => {
  const batch = [
    { ts: NOW_MS - 2, speed: 1 },
    { ts: NOW_MS + MAX_AHEAD_MS + 1, speed: 2 },
    { ts: 1, speed: 3 },
    { ts: 'x', speed: 4 },
    { speed: 5 },
  ]
  const { samples, drops } = parse(batch)
  assert.deepEqual(
    samples.map(({ atMs, speedKmh }) => [atMs, speedKmh]),
    [
      [NOW_MS - 2, 1],
      [NOW_MS, 5],
    ],
  )
  assert.deepEqual(drops, { implausible_time: 3 })
})

test('an element of a batch that is not an object is dropped and counted', () => {
  const { samples, drops } = parse([1, 'x', null, true, [], { speed: 1 }])
  assert.equal(samples.length, 1)
  assert.deepEqual(drops, { not_an_object: 5 })
})

test('a batch keeps the order in which it was sent', () => {
  assert.deepEqual(
    times([
      { ts: NOW_MS - 1, speed: 1 },
      { ts: NOW_MS - 3, speed: 1 },
      { ts: NOW_MS - 2, speed: 1 },
    ]),
    [NOW_MS - 1, NOW_MS - 3, NOW_MS - 2],
  )
})

test('of a batch over 500 samples the first 500 are accepted and the rest counted', () => {
  const batch = Array.from({ length: 507 }, (_, i) => ({ ts: NOW_MS - i, speed: 1 }))
  for (const payload of [batch, { s: batch }]) {
    const { samples, drops } = parse(payload)
    assert.equal(samples.length, 500)
    assert.equal(samples.at(-1)?.atMs, NOW_MS - 499)
    assert.deepEqual(drops, { batch_too_long: 7 })
  }
  assert.deepEqual(parse(batch.slice(0, 500)).drops, {})
})

for (const [what, sample, atMs, drops] of [
  ['dated by its uptime', { up: 81_000 }, NOW_MS - 9500, {}],
  ['of this boot, stated', { up: 81_000, boot: 17 }, NOW_MS - 9500, {}],
  ['with a time of its own', { ts: NOW_MS - 60_000, up: 81_000 }, NOW_MS - 60_000, {}],
  ['of an earlier boot with a time', { ts: NOW_MS - DAY_MS, boot: 16 }, NOW_MS - DAY_MS, {}],
  ['of an earlier boot without one', { up: 81_000, boot: 16 }, undefined, { earlier_boot: 1 }],
  ['without any time', {}, NOW_MS, {}],
  ['from a future uptime', { up: 90_500 + MAX_AHEAD_MS + 1 }, undefined, { implausible_time: 1 }],
  ['from before 2020', { up: 90_500 - NOW_MS }, undefined, { implausible_time: 1 }],
  ['with an uptime that is no number', { up: '81000' }, undefined, { implausible_time: 1 }],
  ['with a bad time', { ts: 1, up: 81_000 }, undefined, { implausible_time: 1 }],
] as [string, object, number | undefined, Drops][]) {
  test(`an envelope's sample ${what} is ${atMs === undefined ? 'discarded' : 'kept'}`, () => {
    const payload = { boot: 17, up: 90_500, s: [{ speed: 1, ...sample }] }
    assert.deepEqual(times(payload), atMs === undefined ? [] : [atMs])
    assert.deepEqual(parse(payload).drops, drops)
  })
}

test('an envelope without its own uptime cannot date samples by theirs', () => {
  assert.deepEqual(parse({ boot: 1, s: [{ up: 5, speed: 1 }] }), {
    samples: [],
    drops: { implausible_time: 1 },
  })
})

test('boot and up are not attributes', () => {
  const { samples } = parse({ s: [{ up: 1, boot: 2, ts: NOW_MS, speed: 1 }] })
  assert.deepEqual(samples[0]?.values, { speed: 1 })
})

for (const payload of [null, true, 1, 'text', undefined]) {
  test(`${JSON.stringify(payload)} is unreadable`, () => {
    assert.throws(() => parse(payload), UnreadablePayloadError)
  })
}

const KEYS = ['ts', 'up', 'boot', 's', 'lat', 'long', 'speed', 'battery_voltage', 'lock_status', 'fuel', 'a-b', '']
const hostile = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.oneof(
      fc.integer({ min: -300, max: 300 }),
      fc.double(),
      fc.integer({ min: NOW_MS - DAY_MS, max: NOW_MS + DAY_MS }),
      fc.string(),
      fc.boolean(),
      fc.constant(null),
    ),
    fc.dictionary(fc.constantFrom(...KEYS), tie('value'), { noNullPrototype: true }),
    fc.array(tie('value'), { maxLength: 6 }),
  ),
})).value

test('any JSON is accepted or throws UnreadablePayloadError, and every accepted value is in range', () => {
  fc.assert(
    fc.property(fc.oneof(hostile, fc.jsonValue()), (payload) => {
      const json: unknown = JSON.parse(JSON.stringify(payload) ?? 'null')
      let parsed: ReturnType<typeof parse>
      try {
        parsed = parse(json)
      } catch (error) {
        assert.ok(error instanceof UnreadablePayloadError)
        return
      }
      for (const count of Object.values(parsed.drops)) assert.ok(count > 0)
      for (const { atMs, lat, long, speedKmh, voltageV, values } of parsed.samples) {
        assert.ok(Number.isInteger(atMs) && isPlausibleTime(atMs, NOW_MS + MAX_AHEAD_MS))
        assert.equal(Number.isNaN(lat), Number.isNaN(long))
        assert.ok(Number.isNaN(lat) || (Math.abs(lat) <= 90 && Math.abs(long) <= 180))
        assert.ok(Number.isNaN(speedKmh) || (speedKmh >= 0 && speedKmh <= 200))
        assert.ok(Number.isNaN(voltageV) || (voltageV >= 0 && voltageV <= 120))
        assert.ok(Object.keys(values).length > 0)
        for (const [key, value] of Object.entries(values)) assert.ok(isScalar(value), `${key} ${value}`)
      }
    }),
    { numRuns: 1000 },
  )
})

test('every sample of a batch is either accepted, empty or counted once', () => {
  const item = fc.oneof(fc.record({ ts: fc.integer({ min: 0, max: 2 * NOW_MS }), speed: fc.constant(1) }), fc.boolean())
  fc.assert(
    fc.property(fc.array(item, { maxLength: 600, size: 'max' }), (batch) => {
      const { samples, drops } = parse(batch)
      const dropped = Object.values(drops).reduce((sum, count) => sum + count, 0)
      assert.equal(samples.length + dropped, batch.length)
    }),
    { numRuns: 50 },
  )
})

function isScalar(value: Scalar): boolean {
  return typeof value === 'boolean' || typeof value === 'string' || Number.isFinite(value)
}
