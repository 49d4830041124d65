import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HttpMessageReader } from './http-messages.ts'

const SIZED = 'POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc'
const CHUNKED = 'POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n'
const BARE = 'GET /c HTTP/1.1\r\nHost: x\r\n\r\n'
const ALL = SIZED + CHUNKED + BARE

test('messages are found wherever the connection splits them', () => {
  for (let size = 1; size <= ALL.length; size++) {
    const reader = new HttpMessageReader()
    const found: string[] = []
    for (let at = 0; at < ALL.length; at += size) {
      const messages = reader.take(Buffer.from(ALL.slice(at, at + size)))
      found.push(...messages.map(({ bytes }) => bytes.toString()))
    }
    assert.deepEqual(found, [SIZED, CHUNKED, BARE])
  }
})

test('a message has its start line and the position of its body', () => {
  const [message] = new HttpMessageReader().take(Buffer.from(SIZED))
  assert.equal(message?.startLine, 'POST /a HTTP/1.1')
  assert.equal(message.bytes.subarray(message.headBytes).toString(), 'abc')
})
