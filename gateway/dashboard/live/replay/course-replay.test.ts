import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { deviceTrackJson } from '#dashboard/testing/track-json.ts'
import { zonesJson } from '#dashboard/testing/zones-json.ts'
import type { ApiClient } from '#shared/client.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { HOUR_MS } from '#shared/time.ts'
import { CourseReplay } from './course-replay.ts'
import { replaySettingsOf } from './replay-settings.ts'
import { ReplayZones } from './replay-zones.ts'

const FROM_MS = Date.UTC(2026, 4, 1)
const SPAN = { fromMs: FROM_MS, toMs: FROM_MS + 24 * HOUR_MS - 1 }
const RULES = { zones: new ReplayZones(zonesJson()), settings: replaySettingsOf(null), groupOf: () => null }

/** Requested hours, in order. */
let asked: number[]
let refused: Set<number>
let isWaiting: boolean
let timers: (() => void)[]
let replay: CourseReplay

/** Each hour has the cart of its number, driving. */
async function answer(_: string, { query, signal }: { query: { from: string }; signal: AbortSignal }) {
  const hour = (Date.parse(query.from) - FROM_MS) / HOUR_MS
  asked.push(hour)
  await turn()
  signal.throwIfAborted()
  if (refused.has(hour)) throw new Error('no answer')
  const track = deviceTrackJson('a', 'teebox', [{ atS: 0, kmh: 10 }])
  return { devices: [{ ...track, cart: String(hour) }], ...(hour === 5 && { warnings: ['damaged'] }) }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))
/** Waits for the pending responses. */
const answered = async () => {
  for (let turns = 0; turns < 3; turns++) await turn()
}
const at = (hour: number, minute = 0) => FROM_MS + hour * HOUR_MS + minute * 60_000
const carts = () => [...replay.fleet.carts.keys()]
const settle = () => {
  for (const timer of timers.splice(0)) timer()
}

beforeEach(() => {
  ;[asked, refused, isWaiting, timers] = [[], new Set(), false, []]
  // it responds in the shape of GET /replay, the only request
  const api = { call: answer } as unknown as Pick<ApiClient, 'call'>
  const deps = {
    api,
    setTimer: (action: () => void) => timers.push(action),
    onWait: (waits: boolean) => {
      isWaiting = waits
    },
  }
  replay = new CourseReplay(deps, SPAN)
  replay.rules = RULES
  timers.length = 0
})

test('an hour is loaded when it is shown, and the next before it is needed', async () => {
  replay.show(at(8, 30))
  assert.equal(isWaiting, true)
  settle()
  await eventually(() => asked.length === 2, 'the next hour is read')
  assert.deepEqual([asked, carts(), isWaiting], [[8, 9], ['8'], false])
  await answered()
  replay.show(at(9))
  assert.deepEqual([carts(), isWaiting], [['9'], false])
})

test('dragging the slider loads no data until it is released', async () => {
  for (const hour of [3, 6, 9, 12]) replay.show(at(hour))
  settle()
  await eventually(() => carts().length > 0, 'it is shown')
  assert.equal(asked[0], 12)
})

test('an hour that became unwanted is abandoned, and not shown if it arrives late', async () => {
  replay.show(at(3))
  settle()
  replay.show(at(20))
  settle()
  await eventually(() => carts().length > 0, 'it is shown')
  assert.deepEqual([asked.slice(0, 2), carts()], [[3, 20], ['20']])
})

test('the last hour of the day has no successor', async () => {
  replay.show(at(23, 59))
  settle()
  await eventually(() => carts().length > 0, 'it is shown')
  await answered()
  assert.deepEqual(asked, [23])
})

test('a failure is reported, and the missing hour is requested again', async () => {
  refused.add(4)
  replay.show(at(4))
  settle()
  await eventually(() => replay.fault.value !== null, 'the fault is shown')
  assert.equal(isWaiting, true)
  refused.clear()
  replay.again()
  settle()
  await eventually(() => carts().length > 0, 'it is shown')
  assert.equal(replay.fault.value, null)
})

test('only a few hours are kept, those shown last', async () => {
  for (const hour of [0, 2, 4, 6, 8]) {
    replay.show(at(hour))
    settle()
    await eventually(() => asked.includes(hour + 1), `${hour} is read`)
    await answered()
  }
  asked = []
  replay.show(at(8))
  replay.show(at(2))
  assert.equal(isWaiting, false)
  replay.show(at(0))
  assert.equal(isWaiting, true)
})

test('possibly missing records are reported, and other zones evaluate the carts again', async () => {
  replay.show(at(5))
  settle()
  await eventually(() => replay.hasGaps.value, 'the gaps are reported')
  const before = replay.fleet.carts.get('5')
  replay.rules = { ...RULES }
  assert.notEqual(replay.fleet.carts.get('5'), before)
})
