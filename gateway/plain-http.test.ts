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

test('with a certificate the port accepts HTTPS, and HTTP as before', async () => {
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

test('a body that is too long is rejected over HTTP as over HTTPS', async () => {
  const body = JSON.stringify({ hardware_id: 'x'.repeat(300_000), device_type: 'teebox' })
  const answer = await fetch(`${plainUrl}/devices`, {
    method: 'POST',
    headers: { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body,
  })
  assert.equal(answer.status, 413)
})

test('a request that arrives byte by byte gets a response', async (t) => {
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

test('plain MQTT, MQTT over WebSocket and the realtime channel continue over HTTP', async () => {
  const password = await gateway.register('cart-1')
  for (const url of [gateway.mqtt, `${plainUrl.replace('http', 'ws')}/mqtt`]) {
    const client = await connectAsync(url, { clientId: 'cart-1', username: 'cart-1', password })
    await client.publishAsync('dev/cart-1/tlm', '{"speed":1}', { qos: 1 })
    await client.endAsync()
  }
  const watcher = await RealtimeClient.open(`${plainUrl.replace('http', 'ws')}/realtime`, { 'x-api-key': ADMIN_KEY })
  watcher.terminate()
})

test('a cookie set over HTTP is not marked as secure, because its browser would reject it', async () => {
  const body = JSON.stringify({ api_key: ADMIN_KEY })
  const headers = { 'content-type': 'application/json' }
  const plain = await fetch(`${plainUrl}/sessions`, { method: 'POST', headers, body })
  assert.doesNotMatch(plain.headers.get('set-cookie') ?? 'Secure', /Secure/)
})

test('a cookie from HTTP becomes TLS-only with the first request that carries it over TLS', async () => {
  const { cookie } = await gateway.signIn()
  const sent = async (scheme: string) => {
    const answer = await gateway.app.request(`${scheme}://localhost/me`, { headers: { cookie } })
    return answer.headers.get('set-cookie')
  }
  assert.equal(await sent('http'), null)
  assert.match((await sent('https')) ?? '', new RegExp(`^${cookie};.*; Secure`))
  assert.equal(await sent('https'), null)
})

test('a page over HTTP receives its TLS address if the certificate is valid for its host', async () => {
  const tlsOf = async (url: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${url}/sessions/current`, { headers })
    return ((await answer.json()) as { tls?: unknown }).tls
  }
  assert.deepEqual(await tlsOf(plainUrl), { url: gateway.http, guide: null })
  assert.deepEqual(await tlsOf(plainUrl.replace('127.0.0.1', 'localhost')), {
    url: gateway.http.replace('127.0.0.1', 'localhost'),
    guide: null,
  })
  assert.equal(await tlsOf(plainUrl, { 'x-forwarded-for': '192.168.1.9' }), undefined)
})

test('HTTP is closed when CARTBARN_PLAIN_HTTP is off', async (t) => {
  const closed = await startGateway({ ...folder.settings, CARTBARN_PLAIN_HTTP: 'off' })
  t.after(() => closed.stop())
  assert.equal((await closed.request('GET', '/health')).status, 200)
  await assert.rejects(fetch(`${closed.http.replace('https:', 'http:')}/health`))
})
