import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findProgram, skipReason } from './programs.ts'

test('the first of several programs that is installed is found', () => {
  assert.match(findProgram(['no-such-program', 'sh', 'ls']) ?? '', /\/sh$/)
  assert.equal(findProgram(['no-such-program']), undefined)
})

test('tests are skipped where a browser is missing, and fail in CI', () => {
  assert.equal(skipReason('Chromium is not installed', {}), 'Chromium is not installed')
  assert.equal(skipReason('Chromium is not installed', { CI: 'true' }), false)
  assert.equal(skipReason(undefined, {}), false)
})
