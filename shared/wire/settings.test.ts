import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { weakKeyFault } from './settings.ts'

for (const key of ['a'.repeat(24), '1'.repeat(16), '1234567'.repeat(4), 'abababababababababababab', ''])
  test(`"${key}" has too few different characters`, () =>
    assert.match(weakKeyFault(key) ?? '', /8 different/))

for (const key of ['password'.repeat(2) + 'golfclub'.repeat(2), 'a-key-of-at-least-24-characters'])
  test(`"${key}" is taken`, () => assert.equal(weakKeyFault(key), undefined))

for (const key of ['abcdefgh'.repeat(3), 'golf-course'.repeat(2), 'abcdefghiabcdefghiabcdef'])
  test(`"${key}" is a repetition`, () => assert.match(weakKeyFault(key) ?? '', /repeated/))

test('keys that were made at random are taken', () => {
  for (let i = 0; i < 1000; i++) {
    assert.equal(weakKeyFault(randomBytes(24).toString('hex')), undefined)
    assert.equal(weakKeyFault(randomBytes(18).toString('base64')), undefined)
  }
})
