import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entityRev } from './sync-hash.ts'

test('equal bodies have equal revisions on both sides, and different bodies different ones', () => {
  const body = { group_id: 7, zones: [{ id: 'a' }], name: 'Wäldchen' }
  assert.equal(entityRev(body), '05d1029b0e8ef439')
  assert.equal(entityRev(JSON.parse(JSON.stringify(body))), entityRev(body))
  assert.notEqual(entityRev({ ...body, group_id: 8 }), entityRev(body))
})

test('a missing entity also has a revision', () => {
  assert.equal(entityRev(null), '74234e98afe7498f')
})
