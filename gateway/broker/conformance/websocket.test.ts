import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { type RawData, WebSocket } from 'ws'
import {
  acknowledgement,
  connectPacket,
  PACKET,
  publishPacket,
  readPublish,
  subscribePacket,
} from '#testing/mqtt-packets.ts'
import { programFields, rawProgram } from '#testing/raw-program.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

let gateway: TestGateway

before(async () => {
  gateway = await startGateway()
})
after(() => gateway.stop())

async function openSocket(protocols = ['mqtt']): Promise<WebSocket> {
  const socket = new WebSocket(gateway.urlOf('ws'), protocols)
  await once(socket, 'open')
  return socket
}

/** Collects received bytes until their number is reached; every frame must be binary [MQTT-6.0.0-1]. */
async function bytesOf(socket: WebSocket, count: number): Promise<Buffer> {
  let bytes = Buffer.alloc(0)
  const collect = (data: RawData, isBinary: boolean) => {
    assert.ok(isBinary)
    assert.ok(Buffer.isBuffer(data))
    bytes = Buffer.concat([bytes, data])
  }
  socket.on('message', collect)
  while (bytes.length < count) await once(socket, 'message', { signal: AbortSignal.timeout(45_000) })
  socket.off('message', collect)
  return bytes
}

test('[MQTT-6.0.0-1] a text frame closes the connection and is not read', async () => {
  const watcher = await rawProgram(gateway)
  await watcher.subscribe({ 'text/#': 1 })
  const will = { topic: 'text/will', payload: 'gone', isRetained: false }
  const connect = connectPacket(await programFields(gateway, { will }))
  const first = await openSocket()
  first.send(connect.toString('latin1'), { binary: false })
  await once(first, 'close')
  const later = await openSocket()
  later.send(connect)
  await bytesOf(later, 4)
  later.send(publishPacket('text/x', 'never', { qos: 0 }).toString('latin1'), { binary: false })
  const [code] = await once(later, 'close')
  assert.equal(code, 1003)
  // a violation: the will is published, not the message
  assert.equal(readPublish(await watcher.next(PACKET.publish)).topic, 'text/will')
})

test('[MQTT-6.0.0-2] packets and frames may have different boundaries', async () => {
  const socket = await openSocket()
  const packets = Buffer.concat([
    connectPacket(await programFields(gateway)),
    subscribePacket({ 'frames/x': 0 }),
    publishPacket('frames/x', 'split', { qos: 0 }),
  ])
  // each byte in a frame, then all in one
  for (const byte of packets) socket.send(Buffer.from([byte]))
  const echo = publishPacket('frames/x', 'split', { qos: 0 })
  const expected = 4 + 5 + echo.length
  const answer = await bytesOf(socket, expected)
  // SUBACK and the message, in any order
  assert.ok(answer.includes(echo))
  assert.ok(answer.includes(Buffer.from([0x90, 3, 0, 1, 0])))
  const again = Buffer.concat(Array.from({ length: 20 }, () => echo))
  socket.send(again)
  assert.deepEqual(await bytesOf(socket, again.length), again)
  socket.send(acknowledgement(PACKET.pubrel, 1))
  assert.deepEqual(await bytesOf(socket, 4), acknowledgement(PACKET.pubcomp, 1))
  socket.terminate()
})

test('[MQTT-6.0.0-3] [MQTT-6.0.0-4] the sub-protocol mqtt must be offered and is confirmed', async () => {
  for (const protocols of [['mqtt'], ['other', 'mqtt'], ['mqttv3.1', 'mqtt', 'chat']]) {
    const socket = await openSocket(protocols)
    assert.equal(socket.protocol, 'mqtt')
    socket.terminate()
  }
  for (const protocols of [[], ['mqttv3.1'], ['MQTT'], ['chat', 'superchat']])
    await assert.rejects(openSocket(protocols), /Unexpected server response: 400/)
})
