import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findChromium } from '#dashboard/testing/chromium.ts'
import { skipReason } from '#dashboard/testing/programs.ts'
import { scenariosOf } from '../benchmarks.ts'
import { runShort } from '../run-short.ts'

const missing = findChromium() === undefined ? 'Chromium is not installed' : undefined
/** Limit for a gateway, carts and a browser on a machine that may be busy. */
const OPTIONS = { timeout: 300_000, skip: skipReason(missing) }
/** Set CARTBARN_TEST_LONG=1 to include the others, which use little more than this. */
const isLong = process.env.CARTBARN_TEST_LONG !== undefined

for (const { name, run } of scenariosOf('dashboard').filter((scenario) => isLong || scenario.name === 'load')) {
  test(`a short dashboard run of ${name} yields all figures`, OPTIONS, async (t) => {
    for (const { name: figure, reached } of await runShort(t, run))
      assert.ok(Number.parseFloat(reached) > 0, `${figure}: ${reached}`)
  })
}
