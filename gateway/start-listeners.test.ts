import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { ADMIN_KEY, metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'

async function open(
  { http }: TestGateway,
  { localAddress = '127.0.0.1', allowHalfOpen = false } = {},
): Promise<Socket> {
  const { hostname: host, port } = new URL(http)
  const socket = connect({ host, port: Number(port), localAddress, allowHalfOpen })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** Resolves when a socket is closed, with an error or without. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.resume().once('close', () => resolve()))
}

function upgrade(path: string, headers: Record<string, string> = {}): string {
  const all = {
    Host: 'x',
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}

for (const [what, request, status] of [
  ['without a key', upgrade('/realtime'), 401],
  ['with a bad key', upgrade('/realtime?api_key=guess'), 401],
  ['of a path without a WebSocket', upgrade('/elsewhere'), 404],
  ['of MQTT without its sub-protocol', upgrade('/mqtt'), 400],
  ['with a key and no WebSocket key', upgrade(`/realtime?api_key=${ADMIN_KEY}`, { 'Sec-WebSocket-Key': 'x' }), 400],
] as const)
  test(`an upgrade ${what} gets ${status} and is closed, even if the client keeps its end open`, async (t) => {
    const g = await startGateway()
    t.after(() => g.stop())
    const sockets = await Promise.all(Array.from({ length: 20 }, () => open(g, { allowHalfOpen: true })))
    const answers = sockets.map((socket) => {
      let text = ''
      socket.on('data', (data) => {
        text += data
      })
      socket.write(request)
      return once(socket, 'end').then(() => text)
    })
    for (const answer of await Promise.all(answers)) assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `))
    // data sent to a closed connection is answered with a reset
    await Promise.all(
      sockets.map(async (socket) => {
        const more = setInterval(() => socket.write('x'), 20)
        await closed(socket)
        clearInterval(more)
      }),
    )
  })

test('each address has its own limit of HTTP connections, and WebSockets do not count', async (t) => {
  const g = await startGateway({ CARTBARN_HTTP_SOCKETS_PER_ADDRESS: '5' })
  t.after(() => g.stop())
  const watchers = await Promise.all(Array.from({ length: 6 }, () => g.realtime()))
  const silent = await Promise.all(Array.from({ length: 5 }, () => open(g, { localAddress: '127.0.0.2' })))
  await closed(await open(g, { localAddress: '127.0.0.2' }))
  assert.equal((await g.request('GET', '/health')).status, 200)
  assert.equal(await metric(g, 'cartbarn_budget_refused_total', 'http_sockets'), 1)
  silent[0]?.destroy()
  await eventually(async () => {
    const again = await open(g, { localAddress: '127.0.0.2' })
    again.write('GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    const answer = await Promise.race([once(again, 'data'), closed(again)])
    return String(answer).startsWith('HTTP/1.1 200')
  }, 'a place is free again')
  for (const socket of silent) socket.destroy()
  for (const watcher of watchers) watcher.terminate()
})

test("behind a trusted proxy wrong keys count per client, and the proxy's connections do not count", async (t) => {
  const env = { CARTBARN_TRUSTED_PROXIES: '127.0.0.0/8', CARTBARN_HTTP_SOCKETS_PER_ADDRESS: '1' }
  const g = await startGateway(env, { clock: new FakeClock() })
  t.after(() => g.stop())
  const ask = (client: string) =>
    fetch(`${g.http}/devices`, { headers: { 'x-api-key': 'guess', 'x-forwarded-for': client } })
  const answers = await Promise.all(Array.from({ length: 301 }, () => ask('198.51.100.7')))
  assert.equal(answers.filter(({ status }) => status === 429).length, 1)
  assert.equal((await ask('198.51.100.8')).status, 401)
  assert.equal((await ask('203.0.113.1, 198.51.100.7')).status, 429)
})

test('behind a trusted proxy MQTT over WebSocket counts per client, not for the proxy', async (t) => {
  const env = {
    CARTBARN_TRUSTED_PROXIES: '127.0.0.0/8',
    CARTBARN_MQTT_CONNECTIONS_PER_ADDRESS: '1',
    CARTBARN_MQTT_FAILED_LOGINS_PER_SECOND: '1',
  }
  const g = await startGateway(env)
  t.after(() => g.stop())
  const statusFor = async (client?: string) => {
    const socket = await open(g)
    t.after(() => socket.destroy())
    const forwarded: Record<string, string> = client === undefined ? {} : { 'X-Forwarded-For': client }
    socket.write(upgrade('/mqtt', { 'Sec-WebSocket-Protocol': 'mqtt', ...forwarded }))
    const [answer] = await once(socket, 'data')
    return String(answer).slice('HTTP/1.1 '.length, 12)
  }
  assert.equal(await statusFor('198.51.100.7'), '101')
  assert.equal(await statusFor('203.0.113.1, 198.51.100.7'), '429')
  assert.equal(await statusFor('198.51.100.8'), '101')
  for (let i = 0; i < 3; i++) assert.equal(await statusFor(), '101')

  const guess = (name: string, client: string) => {
    const wsOptions = { headers: { 'x-forwarded-for': client } }
    return assert.rejects(g.connect(name, 'guess', { protocol: 'ws', wsOptions }), /refused/)
  }
  for (let i = 0; i < 30; i++) await guess(`guess-${i}`, '198.51.100.9')
  const refused = await metric(g, 'cartbarn_budget_refused_total', 'failed_logins')
  assert.ok(refused > 0)
  await guess('guess', '198.51.100.10')
  assert.equal(await metric(g, 'cartbarn_budget_refused_total', 'failed_logins'), refused)
})
