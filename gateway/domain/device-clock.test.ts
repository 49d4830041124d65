import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import { DeviceClock } from './device-clock.ts'

/** Messages of one device: their times of arrival, and how far their own times are ahead of these. */
class Messages {
  readonly clock = new DeviceClock()
  nowMs = 1_000_000
  changes = 0
  /** Clock of the gateway. */
  isConfirmed = true

  /** Receives a message after this time. */
  come(aheadMs: number, afterMs = 5000, isSingle = true): void {
    this.nowMs += afterMs
    if (this.clock.received(aheadMs, isSingle, this.#gateway())) this.changes++
  }

  #gateway() {
    return { isConfirmed: this.isConfirmed, monotonicMs: () => this.nowMs }
  }

  many(count: number, aheadMs: (i: number) => number, afterMs = 5000): this {
    for (let i = 0; i < count; i++) this.come(aheadMs(i), afterMs)
    return this
  }
}

const jitter = (i: number) => [0, 400, -300, 900, -800][i % 5] ?? 0

test('ten messages off by the same amount indicate a wrong clock, whatever the amount', () => {
  for (const offMs of [-5 * HOUR_MS, -HOUR_MS, -150_000, 150_000, HOUR_MS, 14 * HOUR_MS, -56 * 365 * 24 * HOUR_MS])
    for (const afterMs of [500, 1000, 20_000, 10 * MINUTE_MS]) {
      const messages = new Messages()
      messages.many(afterMs < 1000 ? 18 : 9, (i) => offMs + jitter(i), afterMs)
      assert.equal(messages.clock.offMs, null)
      messages.many(2, (i) => offMs + jitter(i), afterMs)
      assert.ok(Math.abs((messages.clock.offMs ?? 0) - offMs) < 1000, `${offMs} ${afterMs}`)
      assert.equal(messages.changes, 1)
    }
})

test('a clock is wrong by a confirmed clock only, which also proves an offset that is known', () => {
  const messages = new Messages()
  messages.isConfirmed = false
  messages.many(20, () => HOUR_MS)
  assert.deepEqual([messages.clock.offMs, messages.clock.isWrong, messages.clock.offS], [HOUR_MS, false, null])
  messages.isConfirmed = true
  messages.come(HOUR_MS)
  assert.deepEqual([messages.clock.isWrong, messages.clock.offS], [true, 3600])
  // that of the gateway is set wrong, and then right
  messages.isConfirmed = false
  messages.many(20, () => -HOUR_MS)
  assert.deepEqual([messages.clock.offMs, messages.clock.isWrong], [-HOUR_MS, false])
  messages.isConfirmed = true
  messages.many(3, () => 0)
  assert.deepEqual([messages.clock.offMs, messages.clock.isWrong], [null, false])
})

test('up to two minutes are not a wrong clock, and a wrong clock is reported once', () => {
  const messages = new Messages().many(100, (i) => (i % 2 === 0 ? 119_000 : 118_000))
  assert.equal(messages.clock.offMs, null)
  messages.many(100, (i) => 119_500 + jitter(i))
  messages.many(100, (i) => 121_500 + jitter(i))
  assert.equal(messages.changes, 1)
})

test('a replayed buffer is not a wrong clock, at any rate, among new readings or in arrays', () => {
  // [spacing of the readings, spacing of the messages]
  for (const [ownMs, afterMs] of [
    [1000, 0],
    [1000, 20],
    [1000, 500],
    [2000, 1000],
    [10_000, 1000],
    [10_000, 5000],
    [60_000, 10_000],
  ] as const) {
    const messages = new Messages()
    const lagMs = 8 * HOUR_MS
    for (let i = 0; ; i++) {
      const aheadMs = -lagMs + i * (ownMs - afterMs)
      if (aheadMs >= 0) break
      messages.come(aheadMs, afterMs)
      assert.equal(messages.clock.offMs, null, `${ownMs} ${afterMs}`)
    }
  }
  // each new reading lies between old ones
  const mixed = new Messages().many(100, (i) => (i % 2 === 0 ? -5 * HOUR_MS : 0))
  assert.equal(mixed.clock.offMs, null)
  const arrays = new Messages()
  for (let i = 0; i < 100; i++) arrays.come(-HOUR_MS, 5000, false)
  assert.equal(arrays.clock.offMs, null)
  // a clock that stands still
  assert.equal(new Messages().many(100, (i) => -HOUR_MS - i * 5000).clock.offMs, null)
})

test('an hour’s change is a new offset; a right clock is detected within seconds, but not by a replay', () => {
  const messages = new Messages().many(12, () => -5 * HOUR_MS)
  // runs slightly slow all day
  messages.many(1000, (i) => -5 * HOUR_MS - i * 20)
  assert.equal(messages.changes, 1)
  messages.many(9, () => -4 * HOUR_MS)
  assert.equal(messages.clock.reportsPresent(-4 * HOUR_MS, false), false)
  messages.many(1, () => -4 * HOUR_MS)
  assert.deepEqual([messages.clock.offMs, messages.changes], [-4 * HOUR_MS, 2])
  messages.many(3, () => 0)
  assert.deepEqual([messages.clock.offMs, messages.changes], [null, 3])

  const ahead = new Messages().many(12, () => 3 * MINUTE_MS)
  ahead.many(1000, (i) => -10 * MINUTE_MS + i * 780, 20)
  ahead.many(12, () => 3 * MINUTE_MS)
  assert.deepEqual([ahead.clock.offMs, ahead.changes], [3 * MINUTE_MS, 1])
})

test('current are messages as far off as the clock, and a response as far off as the message before', () => {
  const wrong = new Messages().many(12, () => -5 * HOUR_MS).clock
  assert.deepEqual(
    [-5 * HOUR_MS - 4000, -6 * HOUR_MS, 0].map((aheadMs) => wrong.reportsPresent(aheadMs, false)),
    [true, false, false],
  )
  const steady = new Messages().many(2, () => -5 * HOUR_MS).clock
  assert.deepEqual(
    [true, false].map((isAnswer) => steady.reportsPresent(-5 * HOUR_MS, isAnswer)),
    [true, false],
  )
  const wasRight = new Messages().many(1, () => 0).many(3, (i) => -HOUR_MS + i * 1000, 1000).clock
  assert.equal(wasRight.reportsPresent(-HOUR_MS + 2000, true), false)
  const replaying = new Messages().many(200, (i) => -5 * HOUR_MS + i * 10_000, 20).clock
  assert.equal(replaying.reportsPresent(-5 * HOUR_MS + 199 * 10_000, true), false)
})
