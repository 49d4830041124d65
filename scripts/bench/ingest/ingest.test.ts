import assert from 'node:assert/strict'
import { testShort } from '../run-short.ts'

testShort('ingest', {
  only: ['saturation', 'peers'],
  // the comparison with other brokers covers nothing of the product that saturation does not
  long: ['peers'],
  check: (figures) => assert.ok(figures.some(({ passed }) => passed === true)),
})
