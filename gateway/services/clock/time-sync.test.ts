import assert from 'node:assert/strict'
import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import { newFolder } from '#testing/backup-sets.ts'
import { isTimeSynchronized } from './time-sync.ts'

const NOW_MS = Date.UTC(2026, 4, 1, 12)

const CASES: [systemMs: number, isSynchronized: boolean][] = [
  [NOW_MS, true],
  [NOW_MS + 40 * MINUTE_MS, true],
  [NOW_MS + HOUR_MS, false],
  // later set to another time by hand
  [NOW_MS + 3 * 365 * DAY_MS, false],
  [NOW_MS - HOUR_MS, false],
]

test('the clock is synchronized while the last synchronization was within the last hour by that clock', (t) => {
  const folder = newFolder(t)
  const file = join(folder, 'synchronized')
  assert.equal(isTimeSynchronized(NOW_MS, file), false)
  writeFileSync(file, '')
  utimesSync(file, NOW_MS / 1000, NOW_MS / 1000)
  for (const [systemMs, isSynchronized] of CASES)
    assert.equal(isTimeSynchronized(systemMs, file), isSynchronized, new Date(systemMs).toISOString())
})
