import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LoadAverage } from './load-average.ts'
import { Meter } from './rate-meter.ts'

test('a rate is one over the last five to ten seconds', () => {
  const meter = new Meter(0)
  assert.equal(meter.perSecond(0), 0)
  for (let second = 1; second <= 60; second++) {
    meter.messages += 7
    if (second % 5 === 0) meter.sample(second * 1000)
    assert.equal(meter.perSecond(second * 1000), 7)
  }
  // idle time shows immediately, and after ten seconds earlier messages no longer count
  assert.equal(meter.perSecond(62_000), 5)
  meter.sample(65_000)
  assert.equal(meter.perSecond(65_000), 0)
})

test('in its first second a rate is not guessed from a moment', () => {
  const meter = new Meter(1000)
  meter.messages = 3
  assert.equal(meter.perSecond(1001), 3)
})

test('a load comes near a steady rate, sooner over a minute than over fifteen, and forgets it again', () => {
  const load = new LoadAverage()
  let count = 0
  for (let tick = 0; tick < 60; tick++) {
    count += 100
    load.sample(count, 5_000)
  }
  const [after1, after5, after15] = [load.perMinute(1), load.perMinute(5), load.perMinute(15)]
  assert.ok(after1 > 1190 && after1 <= 1200, `${after1}`)
  // five minutes with a window of five: 1 - 1/e
  assert.ok(Math.abs(after5 - 1200 * (1 - Math.exp(-1))) < 1, `${after5}`)
  assert.ok(Math.abs(after15 - 1200 * (1 - Math.exp(-1 / 3))) < 1, `${after15}`)
  for (let tick = 0; tick < 60; tick++) load.sample(count, 5_000)
  assert.ok(load.perMinute(1) < 10)
})
