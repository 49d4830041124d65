import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lookShortly } from '../short-look.ts'
import { runPeers } from './peers/peers.ts'
import { runSaturation } from './saturation.ts'

/** Each starts some thirty processes, one after the other, and the machine may have others. */
const TEST_LIMIT = { timeout: 300_000 }

/**
 * Set CARTBARN_TEST_LONG=1 for the comparison with other brokers too: of the product it shows nothing that saturation
 * does not.
 */
const isLong = process.env.CARTBARN_TEST_LONG !== undefined
const SCENARIOS = { saturation: runSaturation, ...(isLong ? { peers: runPeers } : {}) }

for (const [name, run] of Object.entries(SCENARIOS)) {
  test(`a short look at ${name} gives figures, and the gateway loses nothing`, TEST_LIMIT, async (t) => {
    const figures = await lookShortly(t, run)
    assert.ok(figures.some(({ passed }) => passed === true))
  })
}
