import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayClock } from './gateway-clock.ts'

const NOON_MS = Date.parse('2026-05-01T12:00:00Z')

function clockOf(ms: { now: number }): GatewayClock {
  return new GatewayClock(() => ms.now)
}

test('the gateway clock is unknown until the first message with a time, and runs from there', () => {
  const ms = { now: 500 }
  const clock = clockOf(ms)
  assert.equal(clock.nowMs(), 0)
  clock.received(NOON_MS)
  ms.now += 1_500
  assert.equal(clock.nowMs(), NOON_MS + 1_500)
})

test('the gateway clock stands still from the first freeze until the next time from the gateway', () => {
  const ms = { now: 0 }
  const clock = clockOf(ms)
  clock.received(NOON_MS)
  clock.freeze()
  ms.now += 60_000
  clock.freeze()
  assert.equal(clock.nowMs(), NOON_MS)
  clock.received(NOON_MS + 60_000)
  assert.equal(clock.nowMs(), NOON_MS + 60_000)
})

test('frozen before its first time the gateway clock is unknown, and not that of the tablet', () => {
  const clock = clockOf({ now: 7_000 })
  clock.freeze()
  assert.equal(clock.nowMs(), 0)
})

test('half of a round trip is added, and a difference that the trip may explain changes nothing', () => {
  const ms = { now: 0 }
  const clock = clockOf(ms)
  clock.received(NOON_MS)
  clock.received(NOON_MS - 50, 400)
  assert.equal(clock.nowMs(), NOON_MS)
  clock.received(NOON_MS + 5_000, 400)
  assert.equal(clock.nowMs(), NOON_MS + 5_200)
})

test('a long round trip does not change a known clock', () => {
  const clock = clockOf({ now: 0 })
  clock.received(NOON_MS)
  clock.received(NOON_MS + 60_000, 9_000)
  assert.equal(clock.nowMs(), NOON_MS)
})
