import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { createLog } from '#shared/log.ts'
import { HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import type { SiteZone, ZoneType } from '#shared/zones/zone.ts'
import { Store } from '#store/store.ts'
import { CartTwins } from '#testing/course/cart-twins.ts'
import { NO_NOTES } from '../cart.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-twins-'))
const [carts, lazy, eager] = ['carts', 'lazy', 'eager'].map((name) => {
  const options = { dataDir: join(dataDir, name), readerThreads: 1, writeQueueRows: 1000 }
  return new Store(options, createLog('silent'))
}) as [Store, Store, Store] // one for each name
/** Set CARTBARN_TEST_LONG=1 to compare alerts too: each is a transaction. */
const hasAlerts = process.env.CARTBARN_TEST_LONG !== undefined
const stores = [carts, ...(hasAlerts ? [lazy, eager] : [])]
let count = 0

before(() => Promise.all(stores.map((store) => store.start())))
after(async () => {
  await Promise.all(stores.map((store) => store.stop()))
  rmSync(dataDir, { recursive: true, force: true })
})

/** Two carts, one of which has a screen too; names differ in each course, because they share a disk. */
function open(): Promise<CartTwins> {
  const id = ++count
  return CartTwins.open(
    { carts, ...(hasAlerts && { alerts: { lazy, eager } }) },
    { [`${id}-lock-1`]: '1', [`${id}-lock-2`]: '2', [`${id}-screen`]: '2' },
  )
}

/** A strip of land between two latitudes. */
function strip(type: ZoneType, south: number, north: number, groups: readonly number[] | null): SiteZone {
  const at = (lat: number, long: number) => ({ latE7: Math.round(lat * 1e7), longE7: long * 1e7 })
  const ring = [at(south, -1), at(south, 1), at(north, 1), at(north, -1)]
  return {
    id: type,
    name: type,
    type,
    isEnabled: true,
    isVisible: true,
    message: null,
    maxSpeedKmh: null,
    hole: null,
    shape: { kind: 'polygon', ring },
    groups,
  }
}

async function pass(twins: CartTwins, seconds: number): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    twins.clock.advance(1000)
    await twins.tick()
  }
}

type Action = (twins: CartTwins) => void | Promise<void>

const which = fc.nat({ max: 2 })
const deviceOf = (twins: CartTwins, i: number) => {
  const device = twins.devices[i]
  assert.ok(device !== undefined)
  return device
}
const arbitraryReport = fc.record(
  {
    lat: fc.constantFrom(0, 0.0001, 0.01, 0.0101, 0.02, 0.021, 0.05),
    speedKmh: fc.constantFrom(0, 2, 12),
    voltageV: fc.constantFrom(40, 47.9, 48.1, 51),
    isLocked: fc.boolean(),
    agoMs: fc.constantFrom(0, 500, 20_000, 3 * MINUTE_MS, HOUR_MS, -2 * MINUTE_MS),
  },
  { requiredKeys: [] },
)
const by = { userId: 'u', name: 'Ann' }

/** Makes actions of arbitrary values. */
function act<Value>(
  values: fc.Arbitrary<Value>,
  does: (twins: CartTwins, value: Value) => void | Promise<void>,
): fc.Arbitrary<Action> {
  return values.map((value) => (twins) => does(twins, value))
}

const whichAndFlag = fc.tuple(which, fc.boolean())

const actions: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 8,
    arbitrary: act(fc.tuple(which, arbitraryReport), (twins, [i, report]) => twins.say(deviceOf(twins, i), report)),
  },
  { weight: 6, arbitrary: act(fc.integer({ min: 1, max: 40 }), pass) },
  {
    weight: 2,
    arbitrary: act(fc.constantFrom(61_000, 170_000, 15 * MINUTE_MS), async (twins, ms) => {
      twins.clock.advance(ms)
      await twins.tick()
    }),
  },
  act(whichAndFlag, (twins, [i, isOnline]) => twins.connect(deviceOf(twins, i), isOnline)),
  act(whichAndFlag, (twins, [i, isLocked]) => twins.sayLock(deviceOf(twins, i), isLocked)),
  act(whichAndFlag, (twins, [i, isAsleep]) => twins.saySleep(deviceOf(twins, i), isAsleep)),
  act(which, (twins, i) => twins.eraseHistory(deviceOf(twins, i))),
  act(fc.constantFrom(undefined, '1', '2'), (twins, key) => twins.ask(key)),
  // by a little, which restarts nothing, and by more
  act(fc.constantFrom(-30_000, -150, 150, 30_000, -2 * HOUR_MS, 2 * HOUR_MS), (twins, ms) =>
    twins.clock.set(twins.clock.nowMs() + ms),
  ),
  act(fc.boolean(), (twins, isTrusted) => {
    twins.clock.isTrusted = isTrusted
  }),
  act(
    fc.record({
      restAfterS: fc.constantFrom(1, 300),
      silentAfterS: fc.constantFrom(5, 180),
      silentOnCourseAfterS: fc.constantFrom(20, 900),
      pack: fc.constantFrom({ emptyV: null, lowV: null, fullV: null }, { emptyV: 47, lowV: 48, fullV: 51 }),
    }),
    (twins, fields) => {
      twins.settings = { ...twins.settings, ...fields }
    },
  ),
  act(fc.tuple(fc.boolean(), fc.boolean(), fc.constantFrom(null, [7])), (twins, [hasBarn, hasBoundary, groups]) => {
    const barn = strip('parking', -0.001, 0.001, groups)
    const course = strip('boundary', -0.001, 0.03, null)
    const green = strip('stop', 0.0195, 0.0215, null)
    twins.draw([green, ...(hasBarn ? [barn] : []), ...(hasBoundary ? [course] : [])])
  }),
  act(fc.tuple(which, fc.constantFrom(null, 7), fc.constantFrom('1', '2')), (twins, [i, groupId, cart]) =>
    twins.change(deviceOf(twins, i), { groupId, cart }),
  ),
  act(fc.tuple(fc.constantFrom('1', '2'), fc.constantFrom(null, 5000, 50_000)), (twins, [cart, ms]) => {
    const untilMs = twins.clock.nowMs() + (ms ?? 0)
    const exempt = ms === null ? null : { zoneTypes: [], untilMs, why: 'Flag', by }
    twins.notes.set(cart, { ...NO_NOTES, exempt, note: 'x' })
  }),
  fc.constant<Action>((twins) => twins.closeAlerts()),
  fc.constant<Action>((twins) => twins.restart()),
)

test('carts evaluated on events have the same state as carts evaluated every second', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(actions, { minLength: 10, maxLength: 60 }), async (all) => {
      const twins = await open()
      twins.draw([strip('parking', -0.001, 0.001, null), strip('boundary', -0.001, 0.03, null)])
      for (const action of all) await action(twins)
      await twins.tick()
      await twins.stop()
    }),
    { numRuns: 60 },
  )
})

test('a cart without new messages is evaluated only when time changes its state', async () => {
  const twins = await open()
  const [lock] = twins.devices
  assert.ok(lock !== undefined)
  twins.connect(lock, true)
  twins.say(lock, { lat: 0.01, speedKmh: 12 })
  await twins.tick()
  assert.equal(await hasJudged(twins, 59), false)
  // it has stopped; three minutes after the start the others become silent, and after fifteen this one
  assert.equal(await hasJudged(twins, 2), true)
  assert.equal(await hasJudged(twins, 110), false)
  assert.equal(await hasJudged(twins, 20), true)
  assert.equal(await hasJudged(twins, 700), false)
  assert.equal(await hasJudged(twins, 20), true)
  await twins.stop()
})

/** True if the lazy course evaluated a cart in that time: otherwise it reads the notes of each once a tick. */
async function hasJudged(twins: CartTwins, seconds: number): Promise<boolean> {
  const before = twins.lazilyAsked
  await pass(twins, seconds)
  return twins.lazilyAsked - before > 2 * seconds
}
