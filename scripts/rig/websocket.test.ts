import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { WebSocketServer } from 'ws'
import { encodeFrame, Opcode, upgradeRequest } from './websocket.ts'

test('a WebSocket server reads the upgrade and the frames as any other', async (t) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  t.after(() => server.close())
  await once(server, 'listening')
  // it listens on TCP
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.write(upgradeRequest('/realtime', { 'X-API-Key': 'a key' }))
  const [webSocket, request] = await once(server, 'connection')
  assert.equal(request.headers['x-api-key'], 'a key')
  const text = JSON.stringify({ type: 'subscribe', text: 'x'.repeat(300) })
  socket.write(encodeFrame(Opcode.text, Buffer.from(text)))
  const [message] = await once(webSocket, 'message')
  assert.equal(message.toString(), text)
})
