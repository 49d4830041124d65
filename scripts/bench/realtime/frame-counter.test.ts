import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get } from 'node:http'
import { test } from 'node:test'
import { WebSocketServer } from 'ws'
import { FrameCounter } from './frame-counter.ts'

const TEXTS = [
  '{"type":"connected"}',
  '{"type":"device_data","payload":{}}',
  '{"type":"device_status"}',
  `{"type":"device_data","x":"${'x'.repeat(300)}"}`,
  '{}',
  `{"type":"device_data","x":"${'x'.repeat(70_000)}"}`,
  '{"type":"device_data"}',
]

/** A close frame without a reason. */
const CLOSE = Buffer.from([0x88, 0])

/** Bytes that a server of ws sends for these texts and a ping, without the response to the handshake. */
async function sentBytes(): Promise<Buffer> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  server.on('connection', (socket) => {
    for (const text of TEXTS) socket.send(text)
    socket.ping()
    socket.close()
  })
  const headers = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  }
  const [, stream, first] = await once(get({ port: address.port, host: '127.0.0.1', headers }), 'upgrade')
  const chunks: Buffer[] = [first]
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  while (!Buffer.concat(chunks).includes(CLOSE)) await once(stream, 'data')
  stream.destroy()
  server.close()
  return Buffer.concat(chunks)
}

test('counts the frames of a server, wherever their bytes are split', async () => {
  const bytes = await sentBytes()
  const head = bytes.subarray(0, 1_000)
  for (const size of [bytes.length, 1, 2, 3, 7, 19, 26, 27, 64, 65_536]) {
    let pings = 0
    const counter = new FrameCounter({ ping: () => pings++ })
    for (let at = 0; at < bytes.length; at += size) counter.take(bytes, at, Math.min(bytes.length, at + size))
    assert.deepEqual([size, counter.deviceData, counter.others, pings], [size, 4, 3, 1])
  }
  const seen: string[] = []
  const deviceData = (frame: Buffer, at: number, end: number) => seen.push(frame.toString('utf8', at, end))
  new FrameCounter({ ping: () => undefined, deviceData }).take(head, 0, head.length)
  assert.deepEqual(seen, [TEXTS[1], TEXTS[3]])
})
