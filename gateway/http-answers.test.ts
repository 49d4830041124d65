import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'

let g: TestGateway

before(async () => {
  g = await startGateway()
  for (let i = 0; i < 30; i++) await g.register(`cart-${i}`)
})
after(() => g.stop())

interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

/** Sends a request over a socket, exactly as given, without an HTTP client. */
async function ask(method: string, path: string, headers: Record<string, string> = {}, body?: string): Promise<Answer> {
  const asked = request(`${g.http}${path}`, { method, headers })
  asked.end(body)
  const [response] = await once(asked, 'response')
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) }
}

const KEY = { 'x-api-key': ADMIN_KEY }
const JSON_BODY = { ...KEY, 'content-type': 'application/json' }
const UPGRADE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

const ANSWERS: [method: string, path: string, headers: Record<string, string>, status: number, body?: string][] = [
  ['GET', '/health', {}, 200],
  ['GET', '/devices', KEY, 200],
  ['HEAD', '/devices', KEY, 200],
  ['GET', '/docs', {}, 200],
  ['GET', '/openapi.json', {}, 200],
  ['GET', '/metrics', KEY, 200],
  ['GET', '/devices/cart-1/gps?format=csv&from=2026-01-01&to=2026-02-01', KEY, 200],
  ['GET', '/devices', {}, 401],
  ['GET', '/nowhere', KEY, 404],
  ['GET', '/nowhere', {}, 401],
  ['PUT', '/devices', KEY, 405],
  ['POST', '/users', JSON_BODY, 400, '{'],
  ['POST', '/clock/confirm', JSON_BODY, 413, 'x'.repeat(70_000)],
  ['POST', '/users', { ...KEY, 'content-type': 'text/plain' }, 415, 'x'],
  ['POST', '/sessions', { 'content-type': 'application/json', origin: 'http://elsewhere' }, 403, '{"code":"x"}'],
  // rejected before the app sees them
  ['GET', '/devices', { host: 'no host' }, 400],
  ['GET', '/devices', { expect: 'nonsense' }, 417],
  ['GET', '/realtime', UPGRADE, 401],
  ['GET', '/nowhere', UPGRADE, 404],
]

for (const [method, path, headers, status, body] of ANSWERS) {
  const how = headers === UPGRADE ? ' as a WebSocket' : ''
  test(`${method} ${path}${how}: ${status} has the nosniff and no-referrer headers`, async () => {
    const answer = await ask(method, path, headers, body)
    assert.equal(answer.status, status, answer.body.toString())
    assert.equal(answer.headers['x-content-type-options'], 'nosniff')
    assert.equal(answer.headers['referrer-policy'], 'no-referrer')
  })
}

test('a response over 1 KB is compressed for a client that accepts gzip, with matching headers', async () => {
  const plain = await ask('GET', '/devices', KEY)
  const packed = await ask('GET', '/devices', { ...KEY, 'accept-encoding': 'gzip, deflate, br' })
  assert.deepEqual([plain.headers['content-encoding'], packed.headers['content-encoding']], [undefined, 'gzip'])
  for (const { headers } of [plain, packed]) assert.match(String(headers.vary), /Accept-Encoding/)
  assert.ok(packed.body.length < plain.body.length / 4)
  assert.deepEqual(JSON.parse(gunzipSync(packed.body).toString()), JSON.parse(plain.body.toString()))
  const head = await ask('HEAD', '/devices', { ...KEY, 'accept-encoding': 'gzip' })
  assert.deepEqual([head.status, head.body.length, head.headers['content-encoding']], [200, 0, undefined])
})

test('a history that is streamed is not compressed', async () => {
  const { status, headers } = await ask('GET', '/devices/cart-1/gps?format=csv&from=2026-01-01&to=2026-02-01', {
    ...KEY,
    'accept-encoding': 'gzip',
  })
  assert.deepEqual([status, headers['content-encoding']], [200, undefined])
})
