import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isNestedTooDeep } from './json-body.ts'

function nested(levels: number): unknown {
  return JSON.parse(`${'['.repeat(levels)}1${']'.repeat(levels)}`)
}

test('32 levels are fine, 33 are not, and a hundred thousand are no trouble', () => {
  for (const value of [1, 'text', null, [], {}, nested(1), nested(32), { a: nested(31), b: [] }]) {
    assert.equal(isNestedTooDeep(value), false)
  }
  for (const value of [nested(33), { a: 1, b: nested(32) }, nested(100_000)]) {
    assert.equal(isNestedTooDeep(value), true)
  }
})
