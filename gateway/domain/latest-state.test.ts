import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { copyState, countDrop, emptyState, lockStatusValue, mergeValues } from './latest-state.ts'
import type { Scalar } from './telemetry.ts'

interface Reading {
  atMs: number
  values: Record<string, Scalar>
}

const value = fc.oneof(fc.integer(), fc.boolean(), fc.string())
const key = fc.constantFrom('lat', 'long', 'speed', 'lock_status', 'fuel', 'constructor', 'toString')
const readings = fc.uniqueArray(
  fc.record({
    atMs: fc.integer({ min: 0, max: 1000 }),
    values: fc.dictionary(key, value, { noNullPrototype: true }),
  }),
  { selector: ({ atMs }) => atMs, maxLength: 12 },
)

function stateAfter(all: readonly Reading[]) {
  const state = emptyState()
  for (const { atMs, values } of all) mergeValues(state, atMs, values)
  return state
}

test('the final state does not depend on the order in which readings arrive', () => {
  const shuffled = readings.chain((all) =>
    fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length })),
  )
  fc.assert(
    fc.property(shuffled, ([a, b]) => {
      assert.deepEqual(stateAfter(a), stateAfter(b))
    }),
  )
})

test('every attribute holds the value of its newest event time', () => {
  fc.assert(
    fc.property(readings, (all) => {
      const state = stateAfter(all)
      const keys = new Set(all.flatMap(({ values }) => Object.keys(values)))
      assert.deepEqual(new Set(Object.keys(state.values)), keys)
      for (const name of keys) {
        const [newest] = all.filter(({ values }) => Object.hasOwn(values, name)).toSorted((a, b) => b.atMs - a.atMs)
        assert.equal(state.values[name], newest?.values[name])
        assert.equal(state.atMs[name], newest?.atMs)
      }
    }),
  )
})

test('a reading that is not newer changes nothing and returns null', () => {
  fc.assert(
    fc.property(readings, fc.nat(1000), (all, earlierMs) => {
      const state = stateAfter(all)
      const before = copyState(state)
      for (const { atMs, values } of all) {
        const late = Math.max(0, atMs - earlierMs)
        assert.equal(mergeValues(state, late, values), null)
      }
      assert.deepEqual(state, before)
    }),
  )
})

test('a partly late reading updates only the newer values', () => {
  const state = stateAfter([{ atMs: 10, values: { speed: 1 } }])
  assert.deepEqual(mergeValues(state, 5, { speed: 9, fuel: 3 }), { fuel: 3 })
  assert.deepEqual(state.values, { speed: 1, fuel: 3 })
})

test('of two readings of the same time the first wins', () => {
  const state = stateAfter([{ atMs: 10, values: { speed: 1 } }])
  assert.equal(mergeValues(state, 10, { speed: 2 }), null)
  assert.deepEqual(state.values, { speed: 1 })
})

test('a device that invents attribute names does not fill memory, and still reports its position', () => {
  const state = emptyState()
  for (let i = 0; i < 1000; i++) mergeValues(state, i, { [`name${i}`]: i })
  const names = Object.keys(state.values).length
  assert.ok(names >= 32 && names <= 40, `${names} names`)
  assert.deepEqual(mergeValues(state, 2000, { lat: 1, long: 2, other: 3 }), { lat: 1, long: 2 })
  assert.deepEqual(mergeValues(state, 2001, { name0: 7 }), { name0: 7 })
})

test('a copy is independent of the original', () => {
  const state = stateAfter([{ atMs: 1, values: { speed: 1 } }])
  const copy = copyState(state)
  mergeValues(copy, 2, { speed: 2 })
  countDrop(copy, 'invalid_speed', 2)
  countDrop(copy, 'invalid_speed', 1)
  assert.deepEqual(state.values, { speed: 1 })
  assert.deepEqual(state.dropped, {})
  assert.deepEqual(copy.dropped, { invalid_speed: 3 })
})

for (const [known, isLocked, expected] of [
  [undefined, true, true],
  [undefined, false, false],
  [true, false, false],
  [0, true, 1],
  [1, false, 0],
] as const) {
  test(`a device whose lock_status is ${known} is shown ${expected} after a lock event`, () => {
    const state = stateAfter(known === undefined ? [] : [{ atMs: 1, values: { lock_status: known } }])
    assert.equal(lockStatusValue(state, isLocked), expected)
  })
}

test('a value with an impossible time is replaced by any with a possible time', () => {
  const state = stateAfter([{ atMs: 5000, values: { speed: 1, fuel: 2 } }])
  assert.equal(mergeValues(state, 10, { speed: 3 }, 5000), null)
  assert.deepEqual(mergeValues(state, 10, { speed: 3 }, 4999), { speed: 3 })
  assert.deepEqual(state.values, { speed: 3, fuel: 2 })
  assert.equal(mergeValues(state, 9, { speed: 4 }, 4999), null)
})
