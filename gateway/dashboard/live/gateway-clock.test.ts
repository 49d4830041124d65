import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayClock } from './gateway-clock.ts'

const NOON_MS = Date.parse('2026-05-01T12:00:00Z')

function clockOf(ms: { now: number }): GatewayClock {
  return new GatewayClock(() => ms.now)
}

test('it is unknown until the gateway has said it, and goes on from there', () => {
  const ms = { now: 500 }
  const clock = clockOf(ms)
  assert.equal(clock.nowMs(), 0)
  clock.heard(NOON_MS)
  ms.now += 1_500
  assert.equal(clock.nowMs(), NOON_MS + 1_500)
})

test('it stands still from the first freeze on, until the gateway is heard again', () => {
  const ms = { now: 0 }
  const clock = clockOf(ms)
  clock.heard(NOON_MS)
  clock.freeze()
  ms.now += 60_000
  clock.freeze()
  assert.equal(clock.nowMs(), NOON_MS)
  clock.heard(NOON_MS + 60_000)
  assert.equal(clock.nowMs(), NOON_MS + 60_000)
})

test('frozen before it was known it is unknown, not the tablet’s', () => {
  const clock = clockOf({ now: 7_000 })
  clock.freeze()
  assert.equal(clock.nowMs(), 0)
})

test('half of a round trip is added, and what the trip may explain changes nothing', () => {
  const ms = { now: 0 }
  const clock = clockOf(ms)
  clock.heard(NOON_MS)
  clock.heard(NOON_MS - 50, 400)
  assert.equal(clock.nowMs(), NOON_MS)
  clock.heard(NOON_MS + 5_000, 400)
  assert.equal(clock.nowMs(), NOON_MS + 5_200)
})

test('a trip that took long says nothing of a clock that is known', () => {
  const clock = clockOf({ now: 0 })
  clock.heard(NOON_MS)
  clock.heard(NOON_MS + 60_000, 9_000)
  assert.equal(clock.nowMs(), NOON_MS)
})
