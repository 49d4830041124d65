import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endedUnattended, isOverdue, mayShow, type Observation, Promised } from './promised.ts'
import { Uptime } from './uptime.ts'

const on = (untilMs: number) => ({ isOn: true, untilMs })

/** The gateway ran from 0 to 1,000, and runs again since 5,000, having been started at 4,000. */
function observationAt(askedAtMs: number): Observation {
  const uptime = new Uptime()
  uptime.begin(0)
  uptime.end(1000)
  uptime.begin(5000)
  return { bornAtMs: 4000, askedAtMs, answeredAtMs: askedAtMs + 10, uptime }
}

test('what was answered must be shown; what was not may be', () => {
  const name = new Promised('a')
  const isShown = (shown: string) => name.settle(shown, (promised) => promised === shown)
  name.answered('b')
  assert.equal(isShown('a'), false)
  name.answered('b')
  name.unanswered('c')
  assert.deepEqual(name.possible, ['b', 'c'])
  assert.equal(isShown('c'), true)
  assert.equal(isShown('b'), false, 'once it was shown, the other is gone')
})

test('a switch is shown until it is over, and not with another end', () => {
  const observation = observationAt(6000)
  assert.equal(mayShow(on(9000), on(9000), observation), true)
  assert.equal(mayShow(on(9000), on(9001), observation), false)
  assert.equal(mayShow(on(9000), { isOn: false, untilMs: 9000 }, observation), false)
  assert.equal(mayShow(on(9000), null, observation), false, 'it is gone')
  assert.equal(mayShow(on(6005), null, observation), true, 'it ended while it was asked')
  assert.equal(mayShow(null, on(9000), observation), false)
  assert.equal(mayShow(null, null, observation), true)
})

test('a switch that ended before the start, or long ago, is overdue', () => {
  assert.equal(isOverdue(on(3999), observationAt(5100)), true)
  assert.equal(isOverdue(on(4001), observationAt(5100)), false)
  assert.equal(isOverdue(on(4001), observationAt(16_000)), true)
  assert.equal(isOverdue(on(20_000), observationAt(16_000)), false)
  assert.equal(isOverdue(null, observationAt(16_000)), false)
})

test('only a switch that ended between two lives ended unattended', () => {
  const observation = observationAt(6000)
  assert.deepEqual(
    [on(500), on(1500), on(4500), null].map((promised) => endedUnattended(promised, observation)),
    [false, true, false, false],
  )
})
