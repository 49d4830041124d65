import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createCart, planFleet } from '../fleet-plan.ts'
import type { Cart } from './cart.ts'
import { bayOf } from './course.ts'
import type { LockAction } from './itinerary.ts'
import { distanceM, type Point } from './plane.ts'

const center = { lat: 28.41, long: -81.58 }
const DAY_S = 86_400

interface Second {
  readonly second: number
  readonly cart: Cart
  readonly actions: readonly LockAction[]
}

function liveOneDay(seed: number, index: number, day: number, observe: (second: Second) => void): Cart {
  const cart = createCart(planFleet({ seed, carts: 20, center, prefix: 't' }), index)
  cart.startDay(day)
  for (let second = 1; second <= DAY_S; second++) observe({ second, actions: cart.step(), cart })
  return cart
}

const someCart = [fc.nat(1000), fc.nat(19), fc.integer({ min: 20_000, max: 21_000 })] as const

test('a cart never drives faster than 25 km/h and never accelerates harder than a cart can', () => {
  fc.assert(
    fc.property(...someCart, (seed, index, day) => {
      let before: Point | undefined
      let eastBefore = 0
      let northBefore = 0
      liveOneDay(seed, index, day, ({ cart, second }) => {
        const at = cart.position
        const east = before === undefined ? 0 : at.xM - before.xM
        const north = before === undefined ? 0 : at.yM - before.yM
        const speedKmh = Math.hypot(east, north) * 3.6
        assert.ok(speedKmh <= 25 + 1e-9, `${speedKmh} km/h in second ${second}`)
        const acceleration = Math.hypot(east - eastBefore, north - northBefore)
        assert.ok(acceleration < 3, `${acceleration} m/s² in second ${second}`)
        before = at
        eastBefore = east
        northBefore = north
      })
    }),
    { numRuns: 6 },
  )
})

test('a day begins with an unlock by RFID, ends with a lock, and lock and unlock alternate', () => {
  fc.assert(
    fc.property(...someCart, (seed, index, day) => {
      const actions: LockAction[] = []
      const cart = liveOneDay(seed, index, day, (second) => actions.push(...second.actions))
      assert.equal(actions[0]?.event, 'unlock')
      assert.equal(actions[0].source, 'rfid')
      assert.match(actions[0].code ?? '', /^04[0-9A-F]{6}$/)
      assert.equal(actions.at(-1)?.event, 'lock')
      for (const [i, action] of actions.entries()) {
        assert.equal(action.event, i % 2 === 0 ? 'unlock' : 'lock')
        assert.equal(action.code === undefined, action.source === 'key')
      }
      assert.equal(cart.isLocked, true)
      const bay = bayOf(planFleet({ seed, carts: 20, center, prefix: 't' }).course, index)
      assert.ok(distanceM(cart.position, bay) < 0.1)
    }),
    { numRuns: 6 },
  )
})

test('a locked cart stands', () => {
  liveOneDay(5, 3, 20_500, ({ cart }) => {
    if (cart.isLocked) assert.equal(cart.speedMps, 0)
  })
})

test('the battery stays within 40 to 58 V, loses charge over the day and is full again in the morning', () => {
  fc.assert(
    fc.property(...someCart, (seed, index, day) => {
      let least = 1
      const cart = liveOneDay(seed, index, day, ({ cart: { voltageV, charge } }) => {
        assert.ok(voltageV >= 40 && voltageV <= 58, `${voltageV} V`)
        least = Math.min(least, charge)
      })
      assert.ok(least < 0.9 && least > 0.2, `down to ${least}`)
      assert.ok(cart.charge > 0.97, `${cart.charge} in the morning`)
    }),
    { numRuns: 6 },
  )
})

test('all eighteen holes are played in order', () => {
  const holes: number[] = []
  liveOneDay(1, 0, 20_000, ({ cart }) => {
    if (cart.hole !== undefined && cart.hole !== holes.at(-1)) holes.push(cart.hole)
  })
  assert.deepEqual(
    holes.slice(0, 18),
    Array.from({ length: 18 }, (_, i) => i + 1),
  )
})

test('in mid-morning every cart of a fleet is unlocked, and they are spread over the course', () => {
  for (const carts of [1, 20, 100]) {
    const plan = planFleet({ seed: 3, carts, center, prefix: 't' })
    const places = plan.fleet.map(({ index }) => {
      const cart = createCart(plan, index)
      cart.startDay(20_000)
      for (let second = 1; second <= 6.5 * 3600; second++) cart.step()
      return cart
    })
    const playing = places.filter((cart) => !cart.isLocked)
    assert.ok(playing.length >= carts * 0.7, `${playing.length} of ${carts}`)
    if (carts >= 20) assert.ok(new Set(playing.map((cart) => cart.hole)).size >= 7)
  }
})

test('a cart that is locked from afar stops, and drives on when it is unlocked', () => {
  const cart = createCart(planFleet({ seed: 1, carts: 4, center, prefix: 't' }), 0)
  cart.startDay(20_000)
  while (cart.speedMps < 4) cart.step()
  cart.turnLock('lock')
  for (let second = 0; second < 10; second++) cart.step()
  assert.equal(cart.speedMps, 0)
  const stoodAt = cart.position
  for (let second = 0; second < 600; second++) cart.step()
  assert.deepEqual(cart.position, stoodAt)
  cart.turnLock('unlock')
  for (let second = 0; second < 5; second++) cart.step()
  assert.ok(cart.speedMps > 1)
})
