import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runShort } from '../run-short.ts'
import { runPeers } from './peers/peers.ts'
import { runSaturation } from './saturation.ts'

/** Limit for some thirty processes, started one after the other on a machine that may be busy. */
const TEST_LIMIT = { timeout: 300_000 }

/**
 * Set CARTBARN_TEST_LONG=1 to include the comparison with other brokers: it covers nothing of the product that
 * saturation does not.
 */
const isLong = process.env.CARTBARN_TEST_LONG !== undefined
const SCENARIOS = { saturation: runSaturation, ...(isLong ? { peers: runPeers } : {}) }

for (const [name, run] of Object.entries(SCENARIOS)) {
  test(`a short run of ${name} yields figures, and the gateway loses no data`, TEST_LIMIT, async (t) => {
    const figures = await runShort(t, run)
    assert.ok(figures.some(({ passed }) => passed === true))
  })
}
