import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { before, test } from 'node:test'
import { ApiClient, ApiError } from '#shared/client.ts'
import { publish, scene } from '#testing/scene.ts'
import { ADMIN_KEY, startGateway } from '#testing/start-gateway.ts'

const { g: gateway } = scene({ isRealTime: true })
let client: ApiClient

before(async () => {
  client = new ApiClient({ url: gateway.http, apiKey: ADMIN_KEY })
  const device = await gateway.device('cart-1')
  for (const ts of [1_765_967_400_000, 1_765_967_401_000])
    await publish(device, 'dev/cart-1/tlm', { ts, lat: 28.4, long: -81.5 })
})

async function refusalOf(call: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof ApiError, String(error))
  return error
}

test('the client places path, query and body parameters correctly', async () => {
  const made = await client.call('POST /devices', { body: { hardware_id: 'a.b-c', device_type: 'teebox' } })
  assert.equal(made.device.hardware_id, 'a.b-c')
  const device = await client.call('PATCH /devices/{id}', { path: { id: 'a.b-c' }, body: { name: 'ü / ?' } })
  assert.equal(device.name, 'ü / ?')
  const { devices, pagination } = await client.call('GET /devices', {
    query: { search: 'ü / ?', hardware_ids: ['a.b-c', 'x'], limit: 5, offset: undefined },
  })
  assert.deepEqual([devices, pagination.limit], [[device], 5])
  const none = await client.call('GET /devices', { query: { attr_lat: 1 } })
  assert.deepEqual(none.devices, [])
})

test('a realtime connection logs in without a key in its address', async () => {
  const socket = client.openRealtime()
  assert.ok(!socket.url.includes(ADMIN_KEY))
  const [{ data }] = await once(socket, 'message')
  assert.equal(JSON.parse(data).type, 'connected')
  socket.close()
})

test('an id with any characters stays one level of the path', async () => {
  const { code } = await refusalOf(client.call('GET /users/{id}', { path: { id: '../devices?a=#b' } }))
  assert.equal(code, 'user_not_found')
})

test('an error carries status, code, request id and all details of the gateway', async () => {
  const call = client.call('GET /lock-events', { query: { limit: 0, offset: -1 } })
  const error = await refusalOf(call)
  assert.deepEqual([error.status, error.code, error.retryAfterS], [400, 'invalid_number', undefined])
  assert.deepEqual(error.errors.map(({ name }) => name).sort(), ['limit', 'offset'])
  assert.match(error.requestId ?? '', /^[0-9a-f-]{36}$/)
  assert.match(error.message, /^GET \/lock-events\?limit=0&offset=-1: 400 invalid_number: limit: must be/)
})

test('an error for too many requests carries the wait in seconds', async () => {
  const own = await startGateway({ CARTBARN_REQUESTS_PER_SECOND: '1' })
  const hasty = new ApiClient({ url: own.http, apiKey: ADMIN_KEY })
  const errors = await Promise.all(
    Array.from({ length: 20 }, () => hasty.call('GET /stats').catch((error: unknown) => error)),
  )
  await own.stop()
  const refused = errors.find((error) => error instanceof ApiError)
  assert.deepEqual([refused?.status, refused?.code, refused?.retryAfterS], [429, 'rate_limited', 1])
})

test('without a key open operations respond and all others fail', async () => {
  const anonymous = new ApiClient({ url: gateway.http })
  assert.equal((await anonymous.call('GET /health')).status, 'ok')
  assert.equal((await refusalOf(anonymous.call('GET /users'))).code, 'missing_api_key')
})

test('responses that are not JSON are text', async () =>
  assert.match(await client.call('GET /metrics'), /^cartbarn_devices /m))

test('a download is returned as a stream', async () => {
  const response = await client.download('GET /devices/{id}/gps', {
    path: { id: 'cart-1' },
    headers: { Accept: 'text/csv' },
  })
  assert.match(response.headers.get('content-type') ?? '', /^text\/csv/)
  let text = ''
  for await (const chunk of response.body ?? []) text += new TextDecoder().decode(chunk)
  assert.equal(text.trim().split('\n').length, 3)
  const missing = client.download('GET /devices/{id}/gps', { path: { id: 'nowhere' } })
  assert.equal((await refusalOf(missing)).code, 'device_not_found')
})

test('a signal of the call or of the client ends a request', async () => {
  const reason = new Error('enough')
  const signal = AbortSignal.abort(reason)
  await assert.rejects(client.call('GET /stats', { signal }), reason)
  const ended = new ApiClient({ url: gateway.http, apiKey: ADMIN_KEY, signal })
  await assert.rejects(ended.call('GET /stats'), reason)
})

test('a response that does not come from a gateway is passed on unchanged', async () => {
  const proxy = createServer((_, response) => response.writeHead(502).end('<h1>Bad Gateway</h1>'))
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const address = proxy.address()
  assert.ok(address !== null && typeof address === 'object')
  const error = await refusalOf(new ApiClient({ url: `http://127.0.0.1:${address.port}` }).call('GET /health'))
  proxy.close()
  proxy.closeAllConnections()
  assert.deepEqual([error.status, error.code, error.detail], [502, 'unexpected_answer', '<h1>Bad Gateway</h1>'])
})

test('a call that does not fit the schemas does not compile', async () => {
  // each call fails here too: nothing listens at this address
  const unreachable = new ApiClient({ url: 'http://127.0.0.1:1' })
  const calls = [
    // @ts-expect-error there is no such operation
    unreachable.call('GET /golfers'),
    // @ts-expect-error the path has a parameter
    unreachable.call('GET /devices/{id}'),
    // @ts-expect-error a field is missing
    unreachable.call('POST /users', { body: { role: 'user' } }),
    // @ts-expect-error a field is unknown
    unreachable.call('POST /users', { body: { name: 'Jane', allowed_hardware_id: [] } }),
    // @ts-expect-error none of the words it may be
    unreachable.call('GET /lock-events', { query: { source: 'magic' } }),
    // @ts-expect-error it takes no body
    unreachable.call('GET /users', { body: {} }),
  ]
  for (const result of await Promise.allSettled(calls)) assert.equal(result.status, 'rejected')
})
