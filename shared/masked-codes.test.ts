import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { maskCode, readMaskedCode } from './masked-codes.ts'

test('a masked code has the length of the code and reveals only its last two characters', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (code) => {
      const [characters, shown] = [[...code], [...maskCode(code)]]
      assert.equal(shown.length, characters.length)
      const last = characters.length > 2 ? characters.slice(-2) : []
      const hidden = characters.length - last.length
      assert.deepEqual(shown, [...'*'.repeat(hidden), ...last])
    }),
  )
})

test('a masked code is parsed into its hidden length and visible end, and other text is rejected', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (code) => {
      const characters = [...code]
      const last = characters.length > 2 ? characters.slice(-2) : []
      const expected = { hidden: characters.length - last.length, last }
      assert.deepEqual(readMaskedCode(maskCode(code)), expected)
    }),
  )
  for (const text of ['7', 'C3', '04A1B2C3', '*4C3']) assert.equal(readMaskedCode(text), null, text)
})
