import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  hashesEqual,
  hashSecret,
  isHardwareId,
  newApiKey,
  newMqttPassword,
  newShortId,
  newUuid,
  recordId,
  recordIdPrefix,
  type TelemetryStream,
} from './ids.ts'

const hardwareId = fc.stringMatching(/^[A-Za-z0-9._:-]{1,64}$/).filter(isHardwareId)
const stream = fc.constantFrom<TelemetryStream>('gps', 'battery')
const atMs = fc.integer({ min: 0, max: Date.UTC(4000, 0, 1) })

test('the id of a record never changes', () => {
  assert.equal(recordId(recordIdPrefix('cart-1', 'gps'), Date.UTC(2026, 4, 1)), 'BEpIsHj6CZ5C0mom5c000')
})

test('different records of a stream have different ids, in the order of their times', () => {
  fc.assert(
    fc.property(hardwareId, stream, atMs, atMs, (id, kind, a, b) => {
      const prefix = recordIdPrefix(id, kind)
      const [idA, idB] = [recordId(prefix, a), recordId(prefix, b)]
      assert.equal(Math.sign(a - b), idA < idB ? -1 : idA > idB ? 1 : 0)
    }),
  )
})

test('different streams and devices never share an id', () => {
  fc.assert(
    fc.property(hardwareId, stream, hardwareId, stream, atMs, atMs, (id1, s1, id2, s2, a, b) => {
      fc.pre(id1 !== id2 || s1 !== s2)
      assert.notEqual(recordId(recordIdPrefix(id1, s1), a), recordId(recordIdPrefix(id2, s2), b))
    }),
  )
})

test('a short id is 8 lower-case letters and digits', () => {
  const ids = Array.from({ length: 1000 }, newShortId)
  for (const id of ids) assert.match(id, /^[a-z0-9]{8}$/)
  assert.equal(new Set(ids).size, ids.length)
  assert.equal(new Set(ids.join('')).size, 36)
})

test('keys, passwords and ids are long, fit for a header and unique', () => {
  for (const [make, pattern] of [
    [newApiKey, /^flt_[A-Za-z0-9_-]{43}$/],
    [newMqttPassword, /^[A-Za-z0-9_][A-Za-z0-9_-]{31}$/],
    [newUuid, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/],
  ] as const) {
    const made = Array.from({ length: 200 }, make)
    for (const text of made) assert.match(text, pattern)
    assert.equal(new Set(made).size, made.length)
  }
})

test('a secret is stored as its SHA-256 in hex, for text and bytes alike', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (secret) => {
      const expected = createHash('sha256').update(secret, 'utf8').digest('hex')
      assert.equal(hashSecret(secret), expected)
      assert.equal(hashSecret(Buffer.from(secret)), expected)
    }),
  )
})

test('hashes are equal only to themselves', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (a, b) => {
      assert.equal(hashesEqual(hashSecret(a), hashSecret(b)), a === b)
    }),
  )
  assert.equal(hashesEqual('ab', 'abc'), false)
})

for (const [id, isGood] of [
  ['a', true],
  ['Cart_1.A-b', true],
  ['x'.repeat(64), true],
  ['AA:BB:CC:11:22:33', true],
  ['a:b', true],
  ['a::b', true],
  [`a${':'.repeat(62)}b`, true],
  [':', false],
  [':a', false],
  ['a:', false],
  ['', false],
  ['x'.repeat(65), false],
  ['a b', false],
  ['a/b', false],
  ['a+', false],
  ['#', false],
  ['$SYS', false],
  ['käfer', false],
  ['a\n', false],
] as const) {
  test(`${JSON.stringify(id.slice(0, 12))} (${id.length}) is ${isGood ? 'a' : 'no'} hardware id`, () => {
    assert.equal(isHardwareId(id), isGood)
  })
}
