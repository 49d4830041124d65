import assert from 'node:assert/strict'
import { testShort } from '../run-short.ts'

testShort('disk', {
  check: (figures) => {
    const written = figures.find(({ name }) => name === 'written by the process')
    assert.ok(Number.parseFloat(written?.reached ?? '') > 0, 'no bytes were written')
  },
})
