import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { WebSocket } from 'ws'
import { openReader } from '#store/db/connection.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

const SCRAPER = { name: 'Prometheus', role: 'metrics', allowed_hardware_ids: ['*'] }

let gateway: TestGateway
let scraper: { userId: string; key: string }

before(async () => {
  gateway = await startGateway()
  scraper = await gateway.createUser(SCRAPER)
})
after(() => gateway.stop())

test('a metrics key reads /metrics, and no other operation that needs a key', async () => {
  const { key } = scraper
  const { body: document } = await gateway.request('GET', '/openapi.json')
  let refused = 0
  for (const [path, methods] of Object.entries<Record<string, { security: object[] }>>(document.paths))
    for (const [method, { security }] of Object.entries(methods)) {
      const isMetrics = path === '/metrics'
      if (security.length === 0) continue
      const place = path.replaceAll(/\{.+?\}/g, '1')
      const { status, body } = await gateway.request(method.toUpperCase(), place, { key })
      if (isMetrics) assert.equal(status, 200)
      else assert.deepEqual([status, body.code], [403, 'metrics_only'], `${method} ${path}`)
      if (!isMetrics) refused++
    }
  assert.ok(refused > 100, `${refused} operations were tried`)
  const bearer = await gateway.request('GET', '/metrics', {
    key: null,
    headers: { authorization: `Bearer ${key}` },
  })
  assert.match(bearer.body, /^cartbarn_/m)
})

test('operations without authentication treat a metrics key as no key', async () => {
  const { key } = scraper
  const [withKey, without] = [
    await gateway.request('GET', '/health', { key }),
    await gateway.request('GET', '/health', { key: null }),
  ]
  assert.deepEqual(Object.keys(withKey.body), Object.keys(without.body))
  const download = await gateway.request('GET', '/geofences/1/download', { key })
  assert.deepEqual([download.status, download.body.code], [403, 'metrics_only'])
  const signIn = await gateway.request('POST', '/sessions', { key: null, body: { api_key: key } })
  assert.deepEqual([signIn.status, signIn.body.code], [403, 'metrics_only'])
})

test('a metrics key opens neither WebSocket nor MQTT', async () => {
  await assert.rejects(gateway.realtime(scraper.key), /403/)
  const socket = new WebSocket(`${gateway.http.replace('http', 'ws')}/realtime?authenticate=message`)
  await once(socket, 'open')
  socket.send(JSON.stringify({ type: 'authenticate', apiKey: scraper.key }))
  const [message] = await once(socket, 'message')
  assert.equal(JSON.parse(String(message)).code, 'metrics_only')
  await once(socket, 'close')
  for (const protocol of ['mqtt', 'ws'] as const)
    await assert.rejects(gateway.program({ protocol }, scraper), /Bad username or password/)
})

test('a metrics user cannot sign in, by a code, a request or a PIN', async () => {
  const body = { user_id: scraper.userId }
  const { body: asked } = await gateway.request('POST', '/access-requests', {
    key: null,
    body: { name: 'Tablet' },
  })
  for (const [method, path, sent] of [
    ['POST', '/pairing-codes', { ...body, name: 'Tablet' }],
    ['POST', `/access-requests/${asked.request_id}/allow`, body],
    ['PUT', `/users/${scraper.userId}/pin`, { pin: '4711' }],
  ] as const) {
    const answer = await gateway.request(method, path, { body: sent })
    assert.deepEqual([answer.status, answer.body.code], [403, 'metrics_only'], path)
  }
})

test('a user who becomes a metrics user loses all open access, and may get it again', async () => {
  const staff = await gateway.createUser({ name: 'Jane', role: 'staff', allowed_hardware_ids: ['*'] })
  const path = `/users/${staff.userId}`
  await gateway.request('PUT', `${path}/pin`, { body: { pin: '4711' } })
  const tablet = await gateway.pair(staff.userId)
  const [realtime, program] = [await gateway.realtime(staff.key), await gateway.program({}, staff)]
  const ended = new Promise((resolve) => program.once('close', () => resolve(undefined)))
  const ends = Promise.all([once(realtime.socket, 'close'), ended])

  const { body: changed } = await gateway.request('PATCH', path, { body: { role: 'metrics' } })
  assert.deepEqual([changed.role, changed.allowed_hardware_ids, changed.has_pin], ['metrics', null, false])
  await ends
  assert.equal((await tablet.request('GET', '/me')).status, 401)
  const { body: people } = await gateway.request('GET', '/people')
  assert.deepEqual(people, [])
  assert.equal((await gateway.request('GET', '/carts', { key: staff.key })).status, 403)

  const { body: back } = await gateway.request('PATCH', path, { body: { role: 'staff' } })
  assert.deepEqual([back.role, back.allowed_hardware_ids], ['staff', null])
  assert.equal((await gateway.request('GET', '/carts', { key: staff.key })).status, 200)
  assert.equal((await gateway.request('GET', '/metrics', { key: staff.key })).status, 403)
})

test('the only admin cannot become a metrics user', async () => {
  const answer = await gateway.request('PATCH', `/users/${await gateway.adminId()}`, {
    body: { role: 'metrics' },
  })
  assert.deepEqual([answer.status, answer.body.code], [409, 'last_admin'])
})

test('version 1.0.0 finds a user without devices in the database, this version the same role again', async () => {
  const { userId, key } = scraper
  await gateway.restart(() => {
    const reader = openReader(join(gateway.config.dataDir, 'cartbarn.db'))
    const row = reader.get<{ role: string; scope: string }>(
      'SELECT role, allowed_hardware_ids AS scope FROM user WHERE user_id = ?',
      userId,
    )
    reader.close()
    assert.equal(row?.role, 'user')
    const [id = '', ...more] = JSON.parse(row.scope)
    assert.deepEqual(more, [])
    assert.ok(id.length > 64, 'no device and no request can name this id')
  })
  assert.equal((await gateway.request('GET', `/users/${userId}`)).body.role, 'metrics')
  assert.equal((await gateway.request('GET', '/metrics', { key })).status, 200)
  assert.equal((await gateway.request('GET', '/stats', { key })).status, 403)
})
