import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readPayload } from './payload.ts'

const base64 = (bytes: Uint8Array | string) => Buffer.from(bytes).toString('base64')

test('a message is shown as the text it is, anything else byte by byte', () => {
  assert.equal(readPayload(base64('{"v": 1, "ä": "🏌️"}\n')), '{"v": 1, "ä": "🏌️"}\n')
  assert.equal(readPayload(base64(Uint8Array.of(0xff, 0, 0x10))), 'ff 00 10')
  assert.equal(readPayload(base64('a\u0000b')), '61 00 62')
  assert.equal(readPayload(''), '')
})
