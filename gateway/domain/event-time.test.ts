import assert from 'node:assert/strict'
import { test } from 'node:test'
import { latestEventMs, receiveTimeMs } from './event-time.ts'

const NOW_MS = Date.UTC(2026, 4, 1, 12)
const MINUTE_MS = 60_000
const YEAR_MS = 365 * 24 * 60 * MINUTE_MS

for (const [what, isClockTrusted, newestMs, expectedMs] of [
  ['the first there is', true, 0, NOW_MS],
  ['after one of a minute ago', true, NOW_MS - MINUTE_MS, NOW_MS],
  ['after one of this millisecond', true, NOW_MS, NOW_MS + 1],
  ['after the clock went back two seconds', true, NOW_MS + 2000, NOW_MS + 2001],
  ['after the clock went back an hour', true, NOW_MS + 60 * MINUTE_MS, NOW_MS],
  ['after the clock went back ten years', true, NOW_MS + 10 * YEAR_MS, NOW_MS],
  ['after one of a year ahead, on a clock that is not set', false, NOW_MS + YEAR_MS, NOW_MS + YEAR_MS + 1],
  ['after one of a year ago, on a clock that is not set', false, NOW_MS - YEAR_MS, NOW_MS],
] as const) {
  test(`the receive time of a message, ${what}`, () => {
    assert.equal(receiveTimeMs(NOW_MS, newestMs, latestEventMs(NOW_MS, isClockTrusted)), expectedMs)
  })
}
