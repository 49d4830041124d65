import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { hasProxy, type ProxyProgram, ReverseProxy } from '#shared/testing/reverse-proxies.ts'
import { RealtimeClient } from '#testing/realtime-client.ts'
import { ADMIN_KEY, startGateway } from '#testing/start-gateway.ts'

const PAGE = readFileSync(new URL('../docs/reverse-proxy.md', import.meta.url), 'utf8')
/** Address of this host that differs from the proxy's, as a client's does. */
const CLIENT = '127.0.0.2'
/** Larger than nginx accepts and buffers in memory with its defaults. */
const LARGE_BYTES = 2_000_000

function documented(program: ProxyProgram): string {
  const [, config] = PAGE.split(`\`\`\`${program}\n`)
  assert.ok(config !== undefined, `the page has a configuration of ${program}`)
  return config.split('```')[0] ?? ''
}

interface Asked {
  status: number
  headers: IncomingHttpHeaders
  body: string
}

/** Returns a client at `CLIENT` that connects to a proxy like a browser, and accepts any certificate. */
function clientOf({ port }: ReverseProxy) {
  return async (
    method: string,
    path: string,
    { body, headers = {} }: { body?: string; headers?: Record<string, string> } = {},
  ): Promise<Asked> => {
    const sent = request({
      host: '127.0.0.1',
      port,
      servername: 'localhost',
      localAddress: CLIENT,
      rejectUnauthorized: false,
      method,
      path,
      headers: { host: `localhost:${port}`, 'content-type': 'application/json', ...headers },
    })
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      sent.on('response', resolve)
      // a rejected body may get its response, and the connection be closed, before it is sent completely
      sent.on('error', (error: NodeJS.ErrnoException) => error.code === 'EPIPE' || reject(error))
      sent.on('close', () => reject(new Error('closed without a response')))
    })
    sent.end(body)
    const response = await answered
    return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) }
  }
}

/** Returns a course map of many points, for a large upload and a large download. */
function largeCourse(): string {
  const features = Array.from({ length: 40 }, (_, i) => {
    const ring = Array.from({ length: 2_000 }, (_, j) => {
      const angle = (j / 2_000) * 2 * Math.PI
      return [-81.5 + i / 1_000 + Math.cos(angle) / 4_000, 28.4 + Math.sin(angle) / 4_000]
    })
    const coordinates = [[...ring, ring[0]]]
    return { type: 'Feature', properties: { golf: 'rough' }, geometry: { type: 'Polygon', coordinates } }
  })
  return JSON.stringify({ type: 'FeatureCollection', features })
}

for (const program of ['nginx', 'caddy'] as const) {
  test(`${program} as documented: app, sign-in, WebSocket, MQTT, large bodies`, {
    skip: !hasProxy(program),
  }, async (t) => {
    const gateway = await startGateway({ CARTBARN_TRUSTED_PROXIES: '127.0.0.1,::1' })
    t.after(() => gateway.stop())
    const proxy = await ReverseProxy.start(program, documented(program), gateway.http.replace('http://', ''))
    t.after(() => proxy.stop())
    const ask = clientOf(proxy)
    const origin = `https://localhost:${proxy.port}`

    await t.test('a browser signs in, and its cookie is for TLS only', async () => {
      const signedIn = await ask('POST', '/sessions', {
        body: JSON.stringify({ api_key: ADMIN_KEY }),
        headers: { origin },
      })
      assert.equal(signedIn.status, 201, signedIn.body)
      const [cookie = ''] = signedIn.headers['set-cookie'] ?? []
      assert.match(cookie, /Secure/)
      const headers = { cookie: cookie.split(';')[0] ?? '', origin }
      const made = await ask('POST', '/groups', { body: '{"name":"Walkers"}', headers })
      assert.equal(made.status, 201, made.body)
      const foreign = { ...headers, origin: 'https://localhost' }
      assert.equal((await ask('POST', '/groups', { body: '{"name":"X"}', headers: foreign })).status, 403)

      const live = await RealtimeClient.open(`wss://localhost:${proxy.port}/realtime`, headers, UNSEEN)
      await gateway.device('cart-7')
      assert.deepEqual((await live.subscribe('cart-7')).hardwareIds, ['cart-7'])
      live.socket.terminate()
    })

    await t.test('the gateway uses the real address of the client, whatever header the client sends', async () => {
      const headers = { 'x-api-key': ADMIN_KEY, 'x-forwarded-for': '203.0.113.9' }
      await ask('POST', '/groups', { body: '{"name":"Runners"}', headers })
      assert.equal((await gateway.request('GET', '/audit-log?limit=1')).body.entries[0].address, CLIENT)
    })

    await t.test('MQTT over WebSocket works', async () => {
      const password = await gateway.register('cart-8')
      const client = await connectAsync(`wss://localhost:${proxy.port}/mqtt`, {
        clientId: 'cart-8',
        username: 'cart-8',
        password,
        reconnectPeriod: 0,
        connectTimeout: 10_000,
        ...UNSEEN,
        wsOptions: UNSEEN,
      })
      await client.publishAsync('dev/cart-8/tlm', '{"battery_voltage":50}', { qos: 1 })
      assert.equal((await gateway.request('GET', '/devices/cart-8')).body.is_online, true)
      await client.endAsync(true)
    })

    await t.test('large uploads and downloads pass, and the limits are those of the gateway', async () => {
      const headers = { 'x-api-key': ADMIN_KEY }
      const course = largeCourse()
      assert.ok(course.length > LARGE_BYTES)
      const put = await ask('PUT', '/course', { body: course, headers: { ...headers, 'if-match': '*' } })
      assert.equal(put.status, 200, put.body.slice(0, 300))
      const got = await ask('GET', '/course', { headers })
      assert.deepEqual([got.status, JSON.parse(got.body).features.length], [200, 40])
      const tooLarge = await ask('PUT', '/course', { body: course.repeat(4), headers })
      assert.equal(JSON.parse(tooLarge.body).code, 'payload_too_large')
    })
  })

  test(`${program} is set up as documented and the gateway is not: sign-in is rejected as documented`, {
    skip: !hasProxy(program),
  }, async (t) => {
    const gateway = await startGateway()
    t.after(() => gateway.stop())
    const proxy = await ReverseProxy.start(program, documented(program), gateway.http.replace('http://', ''))
    t.after(() => proxy.stop())
    const { status, body } = await clientOf(proxy)('POST', '/sessions', {
      body: JSON.stringify({ api_key: ADMIN_KEY }),
      headers: { origin: `https://localhost:${proxy.port}` },
    })
    assert.deepEqual([status, JSON.parse(body).code], [403, 'foreign_origin'])
  })
}

const UNSEEN = { rejectUnauthorized: false }
