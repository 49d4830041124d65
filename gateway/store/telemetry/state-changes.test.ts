import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { copyState, countDrop, emptyState, markUnverified, mergeValues } from '#domain/latest-state.ts'
import type { Scalar } from '#domain/telemetry.ts'
import { DamagedBlockError } from '#shared/telemetry/damaged-block.ts'
import { NO_ZONE_STATE, type WatchState } from '#shared/zones/watch.ts'
import type { DeviceState } from './device-state.ts'
import { applyStateChanges, encodeStateChanges } from './state-changes.ts'

const T = 1_700_000_000_000
const COORDINATE = fc.oneof(
  fc.integer({ min: -1_800_000_000, max: 1_800_000_000 }).map((e7) => e7 / 1e7),
  fc.double({ min: -90, max: 90, noNaN: true }),
)
const MILLIS = fc.oneof(
  fc.integer({ min: 0, max: 200_000 }).map((milli) => milli / 1e3),
  fc.double({ min: 0, max: 200, noNaN: true }),
)
const OTHER = fc.oneof(fc.string(), fc.boolean(), fc.double({ noNaN: true, noDefaultInfinity: true }))
const AT = fc.integer({ min: -5000, max: 5000 })

const reading = fc.record({
  atMs: AT,
  values: fc.oneof(
    fc.record({ lat: COORDINATE, long: COORDINATE, speed: MILLIS, battery_voltage: MILLIS }, { requiredKeys: [] }),
    fc.dictionary(fc.constantFrom('fuel', 'lock_status', 'constructor', 'lat', 'speed'), OTHER, {
      noNullPrototype: true,
    }),
  ),
})
const fix = fc.record({ atMs: AT, latE7: fc.integer(), longE7: fc.integer() })

type Step =
  | { is: 'reading'; reading: { atMs: number; values: Record<string, Scalar> }; isWatched: boolean }
  | { is: 'status' | 'drop'; text: string; count: number }
  | { is: 'watch'; watch: WatchState }
  | { is: 'unverified'; atMs: number }
  | { is: 'will' | 'applied' | 'asks'; version: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ is: fc.constant('reading' as const), reading, isWatched: fc.boolean() }),
  },
  fc.record({ is: fc.constantFrom('status' as const, 'drop' as const), text: fc.string(), count: fc.nat() }),
  fc.record({
    is: fc.constant('watch' as const),
    watch: fc.record({
      last: fc.option(fix),
      fingerprints: fc.string(),
      zones: fc.array(fc.record({ id: fc.string(), isInside: fc.boolean() }), { maxLength: 2 }),
    }),
  }),
  fc.record({ is: fc.constant('unverified' as const), atMs: AT }),
  fc.record({
    is: fc.constantFrom('will' as const, 'applied' as const, 'asks' as const),
    version: fc.nat(),
  }),
)

const UNSEEN: DeviceState = { state: emptyState(), updatedAtMs: T, lastRespondedAtMs: null, watch: NO_ZONE_STATE }

/** Applies a message to the state of its device, as the ingest does. */
function after(before: DeviceState, steps: readonly Step[], receivedAtMs: number): DeviceState {
  const next = { ...before, state: copyState(before.state) }
  const { state } = next
  let isResponse = true
  for (const one of steps) {
    if (one.is === 'reading') {
      const { atMs, values } = one.reading
      mergeValues(state, T + atMs, values)
      const { lat, long } = values
      if (one.isWatched && typeof lat === 'number' && typeof long === 'number')
        next.watch = {
          ...next.watch,
          last: { atMs: T + atMs, latE7: Math.round(lat * 1e7), longE7: Math.round(long * 1e7) },
        }
    } else if (one.is === 'status') state.status = { [`status ${one.count}`]: one.text }
    else if (one.is === 'drop') countDrop(state, one.text, one.count)
    else if (one.is === 'watch') next.watch = one.watch
    else if (one.is === 'unverified') markUnverified(state, { count: 1, fromMs: one.atMs, toMs: one.atMs })
    else if (one.is === 'applied') state.applied.cfg = { version: one.version, atMs: receivedAtMs }
    else if (one.is === 'asks') state.asksForTime = true
    else isResponse = false
  }
  next.updatedAtMs = receivedAtMs
  if (isResponse) next.lastRespondedAtMs = receivedAtMs
  return next
}

const stored = (known: DeviceState): DeviceState => structuredClone(known)
const asJson = (known: unknown): unknown => JSON.parse(JSON.stringify(known))

test('the changes of a transaction make of the states before it those after it, also when they are read twice', () => {
  const transactions = fc.array(
    fc.array(fc.record({ device: fc.nat(2), steps: fc.array(step, { maxLength: 4 }), laterMs: AT }), {
      minLength: 1,
      maxLength: 6,
    }),
    { maxLength: 6 },
  )
  fc.assert(
    fc.property(transactions, (all) => {
      const live = [UNSEEN, UNSEEN, UNSEEN]
      const read = new Map(live.map((known, i) => [i + 1, stored(known)]))
      for (const messages of all) {
        const before = [...live]
        for (const { device, steps, laterMs } of messages)
          live[device] = after(live[device] ?? UNSEEN, steps, T + laterMs)
        const bytes = encodeStateChanges(
          live.flatMap((known, i) =>
            known === before[i] ? [] : [{ deviceId: i + 1, before: before[i] ?? UNSEEN, after: known }],
          ),
        )
        for (let times = 0; times < 2; times++) applyStateChanges(bytes, (deviceId) => read.get(deviceId))
        for (const [i, known] of live.entries()) {
          const found = read.get(i + 1)
          assert.deepEqual(asJson(found), asJson(known))
          assert.deepEqual(Object.keys(found?.state.values ?? {}), Object.keys(known.state.values))
        }
      }
    }),
    { numRuns: 300 },
  )
})

test('a position, speed and voltage of a cart take some twenty bytes', () => {
  const at = (values: Record<string, Scalar>, atMs: number): DeviceState => {
    const state = emptyState()
    mergeValues(state, atMs, values)
    const { lat = 0, long = 0 } = values
    const last = { atMs, latE7: Math.round(Number(lat) * 1e7), longE7: Math.round(Number(long) * 1e7) }
    return { state, updatedAtMs: atMs + 40, lastRespondedAtMs: atMs + 40, watch: { ...NO_ZONE_STATE, last } }
  }
  const change = (deviceId: number) => ({
    deviceId,
    before: at({ lat: 51.1234567, long: -0.7654321, speed: 11.2, battery_voltage: 48.1, lock_status: 1 }, T),
    after: at(
      {
        lat: (511_200_000 + deviceId * 977) / 1e7,
        long: (-7_600_000 - deviceId * 991) / 1e7,
        speed: 12.345,
        battery_voltage: 48.05,
        lock_status: 1,
      },
      T + 1000 + deviceId,
    ),
  })
  const bytes = encodeStateChanges(Array.from({ length: 10 }, (_, i) => change(i + 1)))
  assert.ok(bytes.length <= 220, `${bytes.length} bytes`)
})

test('whatever the bytes are, nothing but damage is found in them', () => {
  const bytes = encodeStateChanges([{ deviceId: 1, before: UNSEEN, after: { ...UNSEEN, lastRespondedAtMs: 5 } }])
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (place, flip) => {
      const broken = bytes.map((byte, i) => (i === place ? byte ^ flip : byte))
      assert.throws(() => applyStateChanges(broken, () => stored(UNSEEN)), DamagedBlockError)
    }),
  )
})
