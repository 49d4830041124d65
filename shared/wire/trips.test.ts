import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEFAULT_TRIP_CONFIG, tripConfigOf } from '#shared/trips/config.ts'
import {
  activeTripsQuerySchema,
  deviceActiveTripQuerySchema,
  deviceTripsQuerySchema,
  tripSummaryQuerySchema,
  tripsQuerySchema,
} from './trips.ts'

const range = { from: '2026-05-01T00:00:00Z', to: '2026-05-02T00:00:00Z' }

test('parameters omitted from a query have their defaults', () => {
  const query = tripsQuerySchema.parse(range)
  assert.deepEqual(tripConfigOf(query), DEFAULT_TRIP_CONFIG)
  assert.equal(query.from, Date.UTC(2026, 4, 1))
  assert.equal(query.hardware_ids, undefined)
  const { maxAgeSeconds, lookbackSeconds } = deviceActiveTripQuerySchema.parse({})
  assert.deepEqual({ maxAgeSeconds, lookbackSeconds }, { maxAgeSeconds: 300, lookbackSeconds: 14_400 })
  assert.deepEqual(tripSummaryQuerySchema.parse({}), {})
})

test('every parameter of the configuration is a number from 0', () => {
  for (const name of Object.keys(DEFAULT_TRIP_CONFIG)) {
    for (const [text, value] of Object.entries({ '0': 0, '2.5': 2.5, '007': 7, '100000': 100_000 })) {
      assert.deepEqual(deviceTripsQuerySchema.parse({ ...range, [name]: text }), {
        ...deviceTripsQuerySchema.parse(range),
        [name]: value,
      })
    }
    for (const text of ['', ' ', '-1', '-0', '1,5', '1e3', '.5', '5.', 'NaN', 'Infinity', '0x10', ['1', '2']]) {
      const { success } = deviceTripsQuerySchema.safeParse({ ...range, [name]: text })
      assert.equal(success, false, `${name}=${text}`)
    }
  }
})

test('a range needs both ends', () => {
  for (const schema of [tripsQuerySchema, deviceTripsQuerySchema]) {
    assert.equal(schema.safeParse({ from: range.from }).success, false)
    assert.equal(schema.safeParse({ to: range.to }).success, false)
    assert.equal(schema.safeParse({ ...range, to: 'tomorrow' }).success, false)
  }
})

test('the lookback of a device is limited to the length of a range', () => {
  const seconds = 31 * 86_400
  assert.equal(activeTripsQuerySchema.parse({ lookbackSeconds: String(seconds) }).lookbackSeconds, seconds)
  assert.equal(activeTripsQuerySchema.safeParse({ lookbackSeconds: String(seconds + 1) }).success, false)
  assert.equal(activeTripsQuerySchema.safeParse({ maxAgeSeconds: '-1' }).success, false)
})

test('devices are given repeated or comma-separated', () => {
  assert.deepEqual(activeTripsQuerySchema.parse({ hardware_ids: 'a,b' }).hardware_ids, ['a', 'b'])
  assert.deepEqual(tripsQuerySchema.parse({ ...range, hardware_ids: ['a', 'b'] }).hardware_ids, ['a', 'b'])
})
