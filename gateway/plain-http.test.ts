import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { connectAsync } from 'mqtt'
import { createKeyPair, KeyPairFolder } from '#shared/testing/key-pairs.ts'
import { RealtimeClient } from '#testing/realtime-client.ts'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'

let folder: KeyPairFolder
let gateway: TestGateway
let plainUrl: string

before(async () => {
  folder = new KeyPairFolder(createKeyPair())
  gateway = await startGateway({ ...folder.settings, CARTBARN_MQTTS_PORT: '0' })
  plainUrl = gateway.http.replace('https:', 'http:')
})

after(async () => {
  await gateway.stop()
  folder.remove()
})

test('with a certificate the port speaks HTTPS, and HTTP as before', async () => {
  assert.match(gateway.http, /^https:/)
  assert.equal((await gateway.request('GET', '/health')).status, 200)
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => fetch(`${plainUrl}/devices`, { headers: { 'x-api-key': ADMIN_KEY } })),
  )
  for (const answer of answers) {
    assert.equal(answer.status, 200)
    assert.match(await answer.text(), /"returned":0/)
  }
})

test('a body that is too long is refused over HTTP as over HTTPS', async () => {
  const body = JSON.stringify({ hardware_id: 'x'.repeat(300_000), device_type: 'teebox' })
  const answer = await fetch(`${plainUrl}/devices`, {
    method: 'POST',
    headers: { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body,
  })
  assert.equal(answer.status, 413)
})

test('a request that comes byte by byte is answered', async (t) => {
  const socket = connect(Number(new URL(plainUrl).port), '127.0.0.1')
  t.after(() => socket.destroy())
  socket.setNoDelay(true)
  await once(socket, 'connect')
  for (const byte of 'GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n') {
    socket.write(byte)
    await new Promise((resolve) => setImmediate(resolve))
  }
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk
  })
  await once(socket, 'end')
  assert.match(answer, /^HTTP\/1\.1 200 /)
})

test('a device with plain MQTT, MQTT over WebSocket and the realtime channel go on over HTTP', async () => {
  const password = await gateway.register('cart-1')
  for (const url of [gateway.mqtt, `${plainUrl.replace('http', 'ws')}/mqtt`]) {
    const client = await connectAsync(url, { clientId: 'cart-1', username: 'cart-1', password })
    await client.publishAsync('dev/cart-1/tlm', '{"speed":1}', { qos: 1 })
    await client.endAsync()
  }
  const watcher = await RealtimeClient.open(`${plainUrl.replace('http', 'ws')}/realtime`, {
    'x-api-key': ADMIN_KEY,
  })
  watcher.terminate()
})

test('a cookie of a page over HTTP is not marked as secure, or its browser would not take it', async () => {
  const body = JSON.stringify({ api_key: ADMIN_KEY })
  const headers = { 'content-type': 'application/json' }
  const plain = await fetch(`${plainUrl}/sessions`, { method: 'POST', headers, body })
  assert.doesNotMatch(plain.headers.get('set-cookie') ?? 'Secure', /Secure/)
})

test('HTTP is closed when an admin says so', async (t) => {
  const closed = await startGateway({ ...folder.settings, CARTBARN_PLAIN_HTTP: 'off' })
  t.after(() => closed.stop())
  assert.equal((await closed.request('GET', '/health')).status, 200)
  await assert.rejects(fetch(`${closed.http.replace('https:', 'http:')}/health`))
})
