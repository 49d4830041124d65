// Behaviour of ws 8.23 that joined writes rely on: it permits other code to write to its stream, without documenting
// it. If this fails after an upgrade, `connection.ts` must send each frame by ws again, or ws must be replaced.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { WebSocket } from 'ws'
import { eventually } from '#shared/testing/eventually.ts'
import { Channels } from '#testing/channels.ts'
import { WEB_SOCKET_SETTINGS } from './connection.ts'
import { Frame } from './frames.ts'

const EMPTY_BYTES = JSON.stringify({ type: 'error', code: '', message: '' }).length

function open(t: TestContext): Promise<Channels> {
  return Channels.open(t, WEB_SOCKET_SETTINGS)
}

function messageOf(message: string) {
  return { type: 'error', code: '', message } as const
}

test('our frames are identical to those of ws, whatever their length and script', async (t) => {
  const texts = [125, 126, 127, 65_535, 65_536, 200_000].map((length) => 'x'.repeat(length - EMPTY_BYTES))
  texts.push('', 'Fű, фарватер, 緑, ⛳️ 🏌🏽‍♀️', 'é'.repeat(62), '\u0000"\\', 'half a pair: \ud83c')
  const messages = texts.map(messageOf)
  const channel = await (await open(t)).connectRaw()
  for (const message of messages) channel.webSocket.send(JSON.stringify(message))
  const ours = Buffer.concat(messages.map((message) => new Frame(message).bytes))
  await eventually(() => channel.bytes().length >= ours.length, 'all of it arrives')
  assert.ok(channel.bytes().equals(ours))
})

test('compression is never negotiated, whatever a client offers', async (t) => {
  const offered = { 'sec-websocket-extensions': 'permessage-deflate; client_max_window_bits' }
  const { headers } = await (await open(t)).connectRaw(offered)
  assert.equal(headers['sec-websocket-extensions'], undefined)
})

test('ws writes messages immediately, in the order of the calls', async (t) => {
  const { webSocket, stream, client, received } = await (await open(t)).connect()
  const write = (text: string) => stream.write(new Frame(messageOf(text)).bytes)
  const text = (message: string) => ({ text: JSON.stringify(messageOf(message)) })
  webSocket.send(text('1').text)
  write('2')
  webSocket.ping('3')
  write('4')
  webSocket.pong('5')
  write('6')
  webSocket.send(text('x'.repeat(100_000)).text)
  write('7')
  webSocket.close(4401)
  await once(client, 'close')
  assert.deepEqual(received, [
    text('1'),
    text('2'),
    { ping: '3' },
    text('4'),
    { pong: '5' },
    text('6'),
    text('x'.repeat(100_000)),
    text('7'),
    { closed: 4401 },
  ])
})

test('the unsent bytes of ws equal those of the stream', async (t) => {
  const { webSocket, stream } = await (await open(t)).connect()
  stream.cork()
  webSocket.send('x'.repeat(1_000))
  stream.write(new Frame(messageOf('x'.repeat(1_000))).bytes)
  assert.ok(stream.writableLength > 2_000)
  assert.equal(webSocket.bufferedAmount, stream.writableLength)
  stream.uncork()
})

test('a channel is not open once either side has started closing, within the same tick', async (t) => {
  const channels = await open(t)
  const closing = await channels.connect()
  closing.webSocket.close(1001)
  assert.notEqual(closing.webSocket.readyState, WebSocket.OPEN)
  const left = await channels.connect()
  left.client.close()
  await eventually(() => left.stream.writableEnded, 'ws answers the goodbye and ends')
  assert.notEqual(left.webSocket.readyState, WebSocket.OPEN)
})

test('ws does not respond to pings', async (t) => {
  const { webSocket, client, received } = await (await open(t)).connect()
  const pinged = once(webSocket, 'ping')
  client.ping('1')
  await pinged
  webSocket.close()
  await once(client, 'close')
  assert.deepEqual(received, [{ closed: 1005 }])
})
