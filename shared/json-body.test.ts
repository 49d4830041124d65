import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvalidRequestError } from './errors.ts'
import { isNestedTooDeep, readJsonObject, requireSimple } from './json-body.ts'

function nested(levels: number): unknown {
  return JSON.parse(`${'['.repeat(levels)}1${']'.repeat(levels)}`)
}

test('32 levels are accepted, 33 are rejected, and a hundred thousand are rejected without harm', () => {
  for (const value of [1, 'text', null, [], {}, nested(1), nested(32), { a: nested(31), b: [] }]) {
    assert.equal(isNestedTooDeep(value), false)
  }
  for (const value of [nested(33), { a: 1, b: nested(32) }, nested(100_000)]) {
    assert.equal(isNestedTooDeep(value), true)
  }
})

function read(json: string, form = {}): object | string {
  try {
    return readJsonObject(Buffer.from(json), form)
  } catch (error) {
    return error instanceof InvalidRequestError ? error.code : String(error)
  }
}

test('a body is rejected by the number of its parts before it is parsed', () => {
  const numbers = (count: number) => `{"a":[${Array(count).fill(0).join(',')}]}`
  const keys = (count: number) => `{${Array.from({ length: count }, (_, i) => `"k${i}":0`).join(',')}}`
  for (const json of [numbers(199_000), keys(30_000)]) assert.equal(typeof read(json), 'object')
  for (const json of [numbers(200_001), keys(30_001), `{"a":[${'[],'.repeat(110_000)}0]}`, '{'.repeat(9)])
    assert.equal(typeof read(json), 'string')
  assert.equal(read(numbers(200_001)), 'too_complex')
  assert.equal(read(keys(30_001)), 'too_complex')
  assert.equal(typeof read(numbers(200_001), { mayBeVast: true }), 'object')
  assert.equal(read(`{"a":${'['.repeat(32)}${']'.repeat(32)}}`), 'invalid_body')
})

test('the keys of each object are counted, and those of its parent continue after it', () => {
  const limits = { values: 1000, keys: 1000, keysOfOne: 3 }
  const isSimple = (json: string) => {
    try {
      requireSimple(Buffer.from(json), limits)
      return true
    } catch (error) {
      assert.equal(error instanceof InvalidRequestError && error.code, 'too_complex')
      return false
    }
  }
  assert.equal(isSimple('[{"a":0,"b":{"c":0,"d":0,"e":{}},"f":0},{"a":0,"b":0,"c":0}]'), true)
  for (const json of [
    '{"a":0,"b":0,"c":0,"d":0}',
    '{"a":{},"b":{"a":0},"c":[{"a":0}],"d":0}',
    '[{"a":{"a":0,"b":0,"c":0,"d":0}}]',
    '{"a":0,"b":0,"c":0,"d":0',
    ']]}{"a":0,"b":0,"c":0,"d":0}',
  ])
    assert.equal(isSimple(json), false, json)
})

test('brackets and commas within a string are not counted', () => {
  for (const text of [',:'.repeat(300_000), '['.repeat(40), '\\"{'.repeat(40), '"{'.repeat(40), '\\'])
    assert.deepEqual(read(JSON.stringify({ a: text })), { a: text })
})
