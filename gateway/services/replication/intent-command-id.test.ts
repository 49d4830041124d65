import assert from 'node:assert/strict'
import { test } from 'node:test'
import { intentCommandId } from './intent-command-id.ts'

test('the id of an intent that is a UUID is that of its command', () => {
  const id = '6C0A4F2E-6f5d-4a54-8b0e-0d8f3f0a9f11'
  assert.equal(intentCommandId(id), id.toLowerCase())
})

test('any other id makes a UUID, always the same', () => {
  const id = intentCommandId('intent-1')
  // version 8 and the variant of RFC 9562
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  assert.equal(intentCommandId('intent-1'), id)
  assert.notEqual(intentCommandId('intent-2'), id)
})
