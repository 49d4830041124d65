import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { REFUSED_AS_NO_ADMIN, type Who } from '#testing/callers.ts'
import { ok, publish, scene } from '#testing/scene.ts'
import { ADMIN_KEY, type Answer, startFor, startGateway } from '#testing/start-gateway.ts'

const { g, clock, keys } = scene({ devices: ['cart-1'], inScope: ['cart-1'] })

function assertProblem(answer: Answer, status: number, code: string): void {
  const { headers, body } = answer
  assert.equal(answer.status, status)
  assert.equal(headers.get('content-type'), 'application/problem+json')
  const { type, title, detail, error, request_id, errors, ...rest } = body
  assert.deepEqual(rest, { status, code })
  assert.equal(typeof type, 'string')
  assert.ok(title.length > 0 && detail.length > 0)
  assert.equal(error, detail)
  assert.equal(request_id, headers.get('x-request-id'))
  for (const one of errors ?? []) assert.deepEqual(Object.keys(one).sort(), ['code', 'detail', 'in', 'name'])
}

const MEGABYTE = 'x'.repeat(1_000_000)

for (const [what, status, code, method, path, options] of [
  ['no key', 401, 'missing_api_key', 'GET', '/devices', { key: null }],
  ['an empty key', 401, 'missing_api_key', 'GET', '/devices', { key: '' }],
  ['a bad key', 401, 'invalid_api_key', 'GET', '/devices', { key: 'nonsense' }],
  ['an unknown path', 404, 'not_found', 'GET', '/nowhere', {}],
  ['a path too deep', 404, 'not_found', 'GET', '/devices/cart-1/gps/latest/more', {}],
  ['the root', 404, 'not_found', 'GET', '/', {}],
  ['an unknown device', 404, 'device_not_found', 'GET', '/devices/nowhere', {}],
  ['the wrong method', 405, 'method_not_allowed', 'DELETE', '/devices', {}],
  ['a taken id', 409, 'device_exists', 'POST', '/devices', { body: { hardware_id: 'cart-1', device_type: 'teebox' } }],
  ['broken JSON', 400, 'invalid_json', 'POST', '/users', { body: '{"name":' }],
  ['an empty body', 400, 'invalid_json', 'POST', '/users', { body: '' }],
  ['two JSON values', 400, 'invalid_json', 'POST', '/users', { body: '{} {}' }],
  ['an array', 400, 'invalid_body', 'POST', '/users', { body: [] }],
  ['null', 400, 'invalid_body', 'POST', '/users', { body: 'null' }],
  ['a text', 400, 'invalid_body', 'POST', '/users', { body: '"name"' }],
  ['a number', 400, 'invalid_body', 'PATCH', '/devices/cart-1', { body: '7' }],
  ['a wrong field', 400, 'invalid_field', 'POST', '/users', { body: { name: '' } }],
  ['an unknown field', 400, 'unknown_field', 'PATCH', '/devices/cart-1', { body: { nmae: 'x' } }],
  ['a bad parameter', 400, 'invalid_number', 'GET', '/devices?limit=x', {}],
  ['a large body', 413, 'payload_too_large', 'POST', '/users', { body: { name: MEGABYTE } }],
] as [string, number, string, string, string, { key?: string | null; body?: unknown }][])
  test(`${what} is ${status} ${code}, as a problem document`, async () => {
    assertProblem(await g.request(method, path, options), status, code)
  })

test('only a 401 requests a key, by its scheme', async () => {
  assert.equal((await g.get('/devices', { key: null })).headers.get('www-authenticate'), 'ApiKey')
  assert.equal((await g.get('/users', { key: keys['in scope'] })).headers.get('www-authenticate'), null)
})

test('without a key a caller cannot find out what exists', async () => {
  for (const path of ['/nowhere', '/devices/nowhere', '/users/x', '/metrics'])
    assertProblem(await g.get(path, { key: null }), 401, 'missing_api_key')
})

for (const contentType of [
  'application/json',
  'application/json; charset=utf-8',
  'APPLICATION/JSON',
  'application/merge-patch+json',
])
  test(`content type "${contentType}" is accepted`, () =>
    ok(g.patch('/devices/cart-1', { name: 'Name' }, { headers: { 'content-type': contentType } })))

for (const contentType of [
  'text/plain',
  'application/x-www-form-urlencoded',
  'application/jsonp',
  'json',
  'application/v2+json',
  '',
])
  test(`content type "${contentType}" is 415`, async () => {
    const answer = await g.post('/users', { name: 'Name' }, { headers: { 'content-type': contentType } })
    assertProblem(answer, 415, 'unsupported_media_type')
  })

test('a body that is not UTF-8 is rejected, not stored in another form', async () => {
  const body = Buffer.concat([Buffer.from('{"name":"'), Buffer.of(0xff, 0xfe), Buffer.from('"}')])
  const headers = { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json' }
  const answer = await g.app.request('/groups', { method: 'POST', headers, body })
  assert.equal(answer.status, 400)
  assert.match(await answer.text(), /"detail":"the body is not UTF-8","code":"invalid_json"/)
  assert.deepEqual((await g.get('/groups')).body, [])
})

for (const encoding of ['gzip', 'br', 'deflate', 'nonsense'])
  test(`a body with Content-Encoding ${encoding} is 415`, async () => {
    const options = { body: { name: 'Name' }, headers: { 'content-encoding': encoding } }
    assertProblem(await g.request('POST', '/groups', options), 415, 'unsupported_media_type')
  })

test('the identity encoding is accepted as unencoded', () =>
  ok(g.patch('/devices/cart-1', { name: 'Cart' }, { headers: { 'content-encoding': 'identity' } })))

for (const list of ['hardware_ids[]=cart-1&hardware_ids[]=x', 'hardware_ids%5B%5D=cart-1', 'limit[]=1'])
  test(`GET /devices?${list} is read as the repeated parameter`, async () => {
    assert.deepEqual((await ok(g.get(`/devices?${list}`))).devices.length, 1)
    assert.deepEqual((await g.get(`/devices?search=[]&${list}`)).body.devices, [])
    assert.equal((await g.get('/devices?hardware_ids[]=nowhere')).body.devices.length, 0)
    assert.equal((await g.get('/lock-events?order[]=sideways')).body.errors[0].name, 'order')
  })

for (const path of [
  '/devices',
  '/groups',
  '/users',
  '/device-types',
  '/mqtt/clients',
  '/mqtt/quarantine',
  '/commands',
  '/lock-events',
  '/geofence-events',
  '/audit-log',
  '/devices/cart-1/commands',
  '/devices/cart-1/gps',
])
  test(`GET ${path} accepts an order and rejects an invalid one`, async () => {
    for (const order of ['asc', 'desc']) await ok(g.get(`${path}?order=${order}`))
    for (const order of ['sideways', 'ASC', '']) {
      const { status, body } = await g.get(`${path}?order=${order}`)
      assert.deepEqual(
        [status, body.code, body.errors[0].name, body.errors[0].detail],
        [400, 'invalid_parameter', 'order', 'must be one of: asc, desc'],
      )
    }
  })

test('order=desc reverses a list', async () => {
  const ids = async (path: string, id: string) => {
    const { body } = await g.get(path)
    return (body.devices ?? body.clients ?? body).map((one: Record<string, unknown>) => one[id])
  }
  await g.register('cart-2')
  await g.post('/groups', { name: 'One', group_id: 1 })
  await g.post('/groups', { name: 'Two', group_id: 2 })
  await g.put('/groups/1/devices/cart-1')
  await g.put('/groups/1/devices/cart-2')
  for (const [path, id] of [
    ['/devices', 'hardware_id'],
    ['/groups', 'group_id'],
    ['/groups/1/devices', 'hardware_id'],
    ['/users', 'user_id'],
    ['/device-types', 'name'],
  ] as const) {
    const ascending = await ids(path, id)
    assert.ok(ascending.length > 1)
    assert.deepEqual(await ids(`${path}?order=asc`, id), ascending)
    assert.deepEqual(await ids(`${path}?order=desc`, id), ascending.toReversed(), path)
  }
  assert.deepEqual(await ids('/devices?order=desc&limit=1&offset=1', 'hardware_id'), ['cart-1'])
})

test('error texts use the terms of this API, not those of a library', async () => {
  const details = async (method: string, path: string, body: unknown) => {
    const answer = await g.request(method, path, { body })
    assert.equal(answer.status, 400)
    return answer.body.errors.map(({ name, detail }: { name: string; detail: string }) => `${name} ${detail}`)
  }
  assert.deepEqual(await details('POST', '/users', { name: ['x'], role: 'boss', allowed_hardware_ids: 'cart-1' }), [
    'name must be a string',
    'role must be one of: user, staff, admin, metrics',
    'allowed_hardware_ids must be an array',
  ])
  assert.deepEqual(await details('POST', '/users', { name: 'x'.repeat(201) }), [
    'name must have at most 200 characters',
  ])
  assert.deepEqual(await details('POST', '/users', { name: '' }), ['name must not be empty'])
  assert.deepEqual(await details('POST', '/telemetry/purge', { older_than_days: 1.5 }), [
    'older_than_days must be a whole number',
  ])
  assert.deepEqual(await details('POST', '/devices/cart-1/commands', { command: 'lock', ttl_seconds: 0, params: [] }), [
    'params must be an object',
    'ttl_seconds must be at least 1',
  ])
})

for (const name of ['Jane\r\nBcc: x', 'Jane\u001b[31m', 'a\u0000b', 'x\u0085y'])
  test(`a user name cannot be ${JSON.stringify(name)}`, async () => {
    const { status, body } = await g.post('/users', { name })
    assert.deepEqual([status, body.errors[0].name], [400, 'name'])
    assert.equal(body.errors[0].detail, 'must be one line without control characters')
  })

test('one response lists all errors of a request', async () => {
  const { body } = await g.post('/users', { name: 5, email: 'x', role: 'y', a: 1, b: 2 })
  const named = body.errors.map((error: { name: string; code: string }) => `${error.name} ${error.code}`)
  assert.deepEqual(named.sort(), [
    'a unknown_field',
    'b unknown_field',
    'email invalid_field',
    'name invalid_field',
    'role invalid_field',
  ])
  const query = await g.get('/lock-events?limit=0&from=x&source=y&offset=-1')
  assert.deepEqual(query.body.errors.map((error: { in: string; name: string }) => `${error.in} ${error.name}`).sort(), [
    'query from',
    'query limit',
    'query offset',
    'query source',
  ])
})

test('a request keeps its id; an unusable or missing id is replaced', async () => {
  const idOf = async (id: string | null, path = '/devices') => {
    const { headers } = await g.request('GET', path, id === null ? {} : { headers: { 'x-request-id': id } })
    return headers.get('x-request-id') ?? ''
  }
  assert.equal(await idOf('my-id_1.2'), 'my-id_1.2')
  assert.equal(await idOf('my-id', '/nowhere'), 'my-id')
  assert.equal(await idOf('my-id', '/health'), 'my-id')
  const made = await idOf(null)
  assert.ok(made.length >= 16)
  assert.notEqual(await idOf(null), made)
  for (const bad of ['with space', 'x'.repeat(65), 'a"b', '<a>']) assert.notEqual(await idOf(bad), bad)
})

for (const [method, path, allow] of [
  ['PUT', '/devices', 'GET, HEAD, POST'],
  ['POST', '/devices/cart-1', 'DELETE, GET, HEAD, PATCH, PUT'],
  ['POST', '/devices/cart-1/gps', 'GET, HEAD'],
  ['DELETE', '/devices/cart-1/gps/latest/', 'GET, HEAD'],
  ['GET', '/devices/cart-1/rotate-mqtt-password', 'POST'],
  ['PUT', '/users', 'GET, HEAD, POST'],
  ['PUT', '/users/some-id', 'DELETE, GET, HEAD, PATCH'],
  ['POST', '/lock-events', 'GET, HEAD'],
  ['POST', '/health', 'GET, HEAD'],
  ['POST', '/metrics', 'GET, HEAD'],
] as const)
  test(`${method} ${path} is 405, Allow: ${allow}`, async () => {
    const answer = await g.request(method, path)
    assertProblem(answer, 405, 'method_not_allowed')
    assert.equal(answer.headers.get('allow'), allow)
  })

test('an empty level in a path is 404 for any method', async () => {
  for (const method of ['GET', 'POST']) {
    assertProblem(await g.request(method, '/devices//details'), 404, 'not_found')
    assertProblem(await g.request(method, '/devices//'), 404, 'not_found')
  }
})

test('a trailing slash makes no difference', async () => {
  for (const path of ['/devices', '/devices/cart-1', '/users', '/lock-events', '/health', '/stats'])
    await ok(g.get(`${path}/`))
  await ok(g.patch('/devices/cart-1/', {}))
})

test('HEAD is GET without the body, for errors too', async () => {
  for (const path of [
    '/devices',
    '/devices/cart-1',
    '/devices/cart-1/gps',
    '/health',
    '/devices/nowhere',
    '/nowhere',
  ]) {
    const get = await g.get(path)
    const head = await g.request('HEAD', path)
    assert.deepEqual([head.status, head.body], [get.status, ''], path)
    assert.equal(head.headers.get('content-type'), get.headers.get('content-type'))
  }
  assert.equal((await g.request('HEAD', '/devices', { key: null })).status, 401)
})

test('a path that is not valid URL encoding is an error of the caller', async () => {
  for (const path of ['/devices/%', '/devices/%E0%A4%A', '/%ff']) {
    const { status } = await g.get(path)
    assert.ok(status === 404 || status === 400, `${path} ${status}`)
  }
})

test('a body of exactly 64 KiB is read, one byte more is not', async () => {
  const bodyOf = (bytes: number) => `{"nam":"${'x'.repeat(bytes - 10)}"}`
  assertProblem(await g.post('/devices', bodyOf(65_536)), 400, 'missing_field')
  assertProblem(await g.post('/devices', bodyOf(65_537)), 413, 'payload_too_large')
  // bytes, not characters
  assertProblem(await g.post('/devices', `{"nam":"${'ü'.repeat(33_000)}"}`), 413, 'payload_too_large')
})

test('a false content length is detected: too small by counting, too large before reading', async () => {
  const small = { 'content-length': '10' }
  assertProblem(await g.post('/users', { name: MEGABYTE }, { headers: small }), 413, 'payload_too_large')
  const large = { 'content-length': '99999999' }
  assertProblem(await g.post('/users', { name: 'x' }, { headers: large }), 413, 'payload_too_large')
})

test('a body that is too large is rejected over a socket, also without a length', async () => {
  const send = (chunked: boolean) =>
    new Promise<number | undefined>((resolve, reject) => {
      const request = httpRequest(
        `${g.http}/users`,
        {
          method: 'POST',
          headers: {
            'x-api-key': ADMIN_KEY,
            'content-type': 'application/json',
            ...(chunked ? {} : { 'content-length': MEGABYTE.length }),
          },
        },
        (response) => {
          response.resume()
          resolve(response.statusCode)
        },
      )
      // the gateway may close the connection after its response
      request.on('error', reject)
      request.end(MEGABYTE)
    })
  assert.equal(await send(false), 413)
  assert.equal(await send(true), 413)
  assert.equal((await fetch(`${g.http}/health`)).status, 200)
})

for (const [who, isShown] of [
  ['nobody', false],
  ['a bad key', false],
  ['a disabled user', false],
  ['in scope', false],
  ['admin', true],
] as [Who, boolean][])
  test(`/health for ${who} is 200 ${isShown ? 'with' : 'without'} the devices watched`, async () => {
    const body = await ok(g.get('/health', { key: keys[who] }))
    assert.deepEqual(body, {
      status: 'ok',
      timestamp: new Date(clock.nowMs()).toISOString(),
      clock: 'trusted',
      ...(isShown ? { subscriptions: { totalConnections: 0, totalDevicesWatched: 0, subscriptionsByDevice: {} } } : {}),
    })
  })

for (const path of ['/stats', '/metrics', '/mqtt/quarantine'])
  for (const [who, status, code] of REFUSED_AS_NO_ADMIN)
    test(`${path}: ${who} gets ${status} ${code}`, async () => {
      assertProblem(await g.get(path, { key: keys[who] }), status, code)
    })

test('an admin reads the state of the gateway in /stats, /health, /metrics and /mqtt/quarantine', async (t) => {
  const ownClock = new FakeClock()
  const own = await startFor(t, {}, { clock: ownClock })
  const client = await own.device('cart-1')
  await publish(client, 'dev/cart-1/tlm', '{"lat":1,"long":2,"battery_voltage":3}')
  await publish(client, 'dev/cart-1/tlm', 'not json')
  const watcher = await own.realtime()
  await watcher.subscribe('cart-1')
  const subscriptions = { totalConnections: 1, totalDevicesWatched: 1, subscriptionsByDevice: { 'cart-1': 1 } }
  assert.deepEqual((await own.get('/stats')).body, {
    devices: 1,
    telemetry: { gps: 1, battery: 1 },
    commands: 0,
    subscriptions,
  })
  assert.deepEqual((await own.get('/health')).body.subscriptions, subscriptions)
  assert.deepEqual((await own.get('/mqtt/quarantine')).body, [
    {
      received_at: new Date(ownClock.nowMs()).toISOString(),
      hardware_id: 'cart-1',
      topic: 'dev/cart-1/tlm',
      reason: 'invalid_json',
      size_bytes: 8,
      payload: Buffer.from('not json').toString('base64'),
    },
  ])
  const metrics = await own.get('/metrics')
  assert.match(metrics.headers.get('content-type') ?? '', /^text\/plain/)
  assert.match(metrics.body, /^cartbarn_devices 1$/m)
  assert.match(metrics.body, /^cartbarn_store_usable 1$/m)
  assert.match(metrics.body, /^cartbarn_dropped_total\{reason="invalid_json"\} 1$/m)
})

test('past 300 failed keys an address must wait, and its valid keys still work', async (t) => {
  const ownClock = new FakeClock()
  const own = await startFor(t, {}, { clock: ownClock })
  const { key } = await own.createUser({})
  for (let i = 0; i < 300; i++) assertProblem(await own.get('/devices', { key: `guess-${i}` }), 401, 'invalid_api_key')
  const refused = await own.get('/devices', { key: 'guess-301' })
  assertProblem(refused, 429, 'rate_limited')
  assert.equal(refused.headers.get('retry-after'), '1')
  // neither a key that was never used, nor a new one
  const late = await own.createUser({})
  for (const right of [key, late.key]) await ok(own.get('/devices', { key: right }))
  assert.equal((await own.get('/devices', { key: null })).status, 401)
  await ok(own.get('/health', { key: 'guess-302' }))

  ownClock.advance(200)
  assert.equal((await own.get('/devices', { key: 'guess-303' })).status, 401)
  assert.equal((await own.get('/devices', { key: 'guess-304' })).status, 429)
  assert.match((await own.get('/metrics')).body, /^cartbarn_budget_refused_total\{budget="failed_keys"\} 3$/m)
})

test('guesses at /health count as failed keys; valid keys and probes still get a response', async (t) => {
  const own = await startFor(t, {}, { clock: new FakeClock() })
  const health = async (key: string | null) => (await own.get('/health', { key })).body
  assert.ok('subscriptions' in (await health(ADMIN_KEY)))
  for (let i = 0; i < 300; i++) assert.ok(!('subscriptions' in (await health(`guess-${i}`))))
  assert.ok('subscriptions' in (await health(ADMIN_KEY)))
  assert.equal((await health(null)).status, 'ok')
  assert.equal((await own.get('/devices', { key: 'guess-301' })).status, 429)
  await ok(own.get('/devices'))
})

test('caches store no response', async () => {
  for (const path of ['/devices', '/nowhere', '/health'])
    assert.equal((await g.get(path)).headers.get('cache-control'), 'no-store')
  assert.equal((await g.get('/devices', { key: null })).headers.get('cache-control'), 'no-store')
})

test('a missing key does not count as a failed key', async (t) => {
  const own = await startFor(t, {}, { clock: new FakeClock() })
  for (let i = 0; i < 30; i++) await own.get('/devices', { key: null })
  assert.equal((await own.get('/devices', { key: 'bad' })).status, 401)
})

test('each key has its own request rate, which recovers with time', async (t) => {
  const ownClock = new FakeClock()
  const own = await startFor(t, { CARTBARN_REQUESTS_PER_SECOND: '1' }, { clock: ownClock })
  const { key } = await own.createUser({})
  const other = await own.createUser({})
  for (let i = 0; i < 4; i++) await ok(own.get('/devices', { key }))
  const refused = await own.get('/devices', { key })
  assertProblem(refused, 429, 'rate_limited')
  assert.equal(refused.headers.get('retry-after'), '1')
  await ok(own.get('/devices', { key: other.key }))
  ownClock.advance(1000)
  await ok(own.get('/devices', { key }))
  assert.equal((await own.get('/devices', { key })).status, 429)
  ownClock.advance(60_000)
  for (let i = 0; i < 4; i++) await ok(own.get('/devices', { key }))
  assert.equal((await own.get('/devices', { key })).status, 429)
  await ok(own.get('/health', { key }))
})

const PREFLIGHT = { 'access-control-request-method': 'PATCH', 'access-control-request-headers': 'x-api-key' }

test('CORS is off unless configured', async () => {
  const headers = { origin: 'https://dash.example' }
  assert.equal((await g.get('/devices', { headers })).headers.get('access-control-allow-origin'), null)
  const preflight = await g.request('OPTIONS', '/devices/cart-1', { key: null, headers: { ...headers, ...PREFLIGHT } })
  assert.equal(preflight.status, 401)
  assert.equal(preflight.headers.get('access-control-allow-origin'), null)
})

test('a configured origin may call and read errors, another origin may not', async (t) => {
  const own = await startFor(
    t,
    { CARTBARN_CORS_ORIGINS: 'https://dash.example, https://two.example' },
    { clock: new FakeClock() },
  )
  const from = (origin: string, more: object = {}) => ({ headers: { origin, ...more } })
  for (const origin of ['https://dash.example', 'https://two.example']) {
    const answer = await own.request('GET', '/devices', from(origin))
    assert.equal(answer.headers.get('access-control-allow-origin'), origin)
    assert.match(answer.headers.get('access-control-expose-headers') ?? '', /X-Request-Id/i)
    const refused = await own.request('GET', '/devices', { key: null, ...from(origin) })
    assert.deepEqual([refused.status, refused.headers.get('access-control-allow-origin')], [401, origin])
    const missing = await own.request('GET', '/nowhere', from(origin))
    assert.deepEqual([missing.status, missing.headers.get('access-control-allow-origin')], [404, origin])
  }
  const preflight = await own.request('OPTIONS', '/devices/x', {
    key: null,
    ...from('https://dash.example', PREFLIGHT),
  })
  assert.equal(preflight.status, 204)
  assert.match(preflight.headers.get('access-control-allow-methods') ?? '', /PATCH/)
  assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /x-api-key/i)
  const stranger = await own.request('GET', '/devices', from('https://evil.example'))
  assert.equal(stranger.headers.get('access-control-allow-origin'), null)
})

test('CORS * allows every origin', async (t) => {
  const own = await startFor(t, { CARTBARN_CORS_ORIGINS: '*' }, { clock: new FakeClock() })
  const { headers } = await own.get('/devices', { headers: { origin: 'https://any.example' } })
  assert.equal(headers.get('access-control-allow-origin'), '*')
})

test('with a closed store writes are 503 with Retry-After; an internal fault is 500 without details', async () => {
  const own = await startGateway()
  await own.stop()
  const unavailable = await own.post('/users', { name: 'Late' })
  assertProblem(unavailable, 503, 'store_unavailable')
  assert.ok(Number(unavailable.headers.get('retry-after')) > 0)
  assertProblem(await own.get('/devices/x/gps'), 404, 'device_not_found')

  const broken = await own.get('/stats')
  assertProblem(broken, 500, 'internal_error')
  assert.doesNotMatch(JSON.stringify(broken.body), /store|started|stack|\.ts/)
})
