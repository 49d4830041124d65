import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isCodeSoFar, isTypedCode, readCode } from './code.ts'

test('a code is read from the address, and other parameters are ignored', () => {
  assert.deepEqual(readCode('#pair=7K3M9QXA2BFT'), { kind: 'pair', code: '7K3M9QXA2BFT' })
  assert.deepEqual(readCode('#setup=7K3M-9QXA-2BFT'), { kind: 'setup', code: '7K3M-9QXA-2BFT' })
  assert.deepEqual(readCode('#pair=7K3M%209QXA'), { kind: 'pair', code: '7K3M 9QXA' })
  assert.deepEqual(readCode('#pair=%E0%A4%A'), { kind: 'pair', code: '%E0%A4%A' })
  for (const hash of ['', '#', '#/map/17', '#pair=', '#other=7K3M9QXA2BFT', `#pair=${'A'.repeat(65)}`])
    assert.equal(readCode(hash), null, hash)
})

test('entered text with the form of a code is accepted as a code', () => {
  for (const text of ['7K3M9QXA2BFT', '7k3m-9qxa-2bft', ' 7K3M 9QXA 2BFT ']) assert.ok(isTypedCode(text), text)
  for (const text of ['', 'flt_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG', '7K3M9QXA2BF', 'admin_key_01'])
    assert.ok(!isTypedCode(text), text)
})

test('text is shown while it may be a code, and hidden once it may be a key', () => {
  for (const text of ['', '7K3M', '7K3M-9QXA-2BF', '7K3M9QXA2BFTT']) assert.ok(isCodeSoFar(text), text)
  for (const text of ['flt_short', 'a-key-chosen-for-the-first-start']) assert.ok(!isCodeSoFar(text), text)
})
