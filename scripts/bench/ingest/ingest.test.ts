import assert from 'node:assert/strict'
import { testShort } from '../run-short.ts'
import { peers } from './peers/peers.ts'
import { saturation } from './saturation.ts'
import { ingest } from './scenarios.ts'

// the comparison with other brokers covers nothing of the product that saturation does not
testShort({ ...ingest, scenarios: [saturation, peers] }, ['peers'], (figures) => {
  assert.ok(figures.some(({ passed }) => passed === true))
})
