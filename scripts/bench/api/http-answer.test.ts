import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AnswerReader } from './http-answer.ts'

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{"a":"\u00e9 b"}'

test('an answer is complete with its last byte, wherever it is cut', () => {
  const bytes = Buffer.from(ANSWER)
  for (let cut = 1; cut < bytes.length; cut++) {
    const reader = new AnswerReader()
    assert.equal(reader.take(bytes.subarray(0, cut)), false, `cut at ${cut}`)
    assert.equal(reader.take(bytes.subarray(cut)), true, `cut at ${cut}`)
    assert.equal(reader.status, 200)
  }
})

test('answers follow each other on one connection', () => {
  const reader = new AnswerReader()
  for (const status of [200, 404, 200]) {
    assert.equal(reader.take(Buffer.from(`HTTP/1.1 ${status} X\r\ncontent-length:2\r\n\r\nok`)), true)
    assert.equal(reader.status, status)
  }
})

test('an answer without a length is refused', () => {
  const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
  assert.throws(() => new AnswerReader().take(Buffer.from(chunked)), /Content-Length/)
})
