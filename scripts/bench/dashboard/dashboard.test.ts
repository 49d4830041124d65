import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findChromium } from '#dashboard/testing/chromium.ts'
import { skipReason } from '#dashboard/testing/programs.ts'
import { runShort } from '../run-short.ts'
import { runDay } from './day.ts'
import { runFirstLoad } from './first-load.ts'
import { runLine } from './line.ts'
import { runLoad } from './load.ts'
import { runMemory } from './memory.ts'
import { runSlow } from './slow.ts'
import { runZones } from './zones.ts'

const missing = findChromium() === undefined ? 'Chromium is not installed' : undefined
/** Limit for a gateway, carts and a browser on a machine that may be busy. */
const OPTIONS = { timeout: 300_000, skip: skipReason(missing) }

/** Set CARTBARN_TEST_LONG=1 to include those that use little more than the first. */
const isLong = process.env.CARTBARN_TEST_LONG !== undefined
const SCENARIOS = {
  load: runLoad,
  ...(isLong ? { 'first-load': runFirstLoad, slow: runSlow, zones: runZones } : {}),
  ...(isLong ? { memory: runMemory, line: runLine, day: runDay } : {}),
}

for (const [name, run] of Object.entries(SCENARIOS)) {
  test(`a short dashboard run of ${name} yields all figures`, OPTIONS, async (t) => {
    for (const { name: figure, reached } of await runShort(t, run))
      assert.ok(Number.parseFloat(reached) > 0, `${figure}: ${reached}`)
  })
}
