import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { WebSocket } from 'ws'
import { openReader } from '#store/db/connection.ts'
import { fails, ok, scene } from '#testing/scene.ts'

const SCRAPER = { name: 'Prometheus', role: 'metrics', allowed_hardware_ids: ['*'] }
const { g: gateway } = scene({ isRealTime: true })
let scraper: { userId: string; key: string }

before(async () => {
  scraper = await gateway.createUser(SCRAPER)
})

test('a metrics key reads /metrics, and no other operation that needs a key', async () => {
  const { key } = scraper
  const { body: document } = await gateway.get('/openapi.json')
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
  const bearer = await gateway.get('/metrics', { key: null, headers: { authorization: `Bearer ${key}` } })
  assert.match(bearer.body, /^cartbarn_/m)
})

test('operations without authentication treat a metrics key as no key', async () => {
  const { key } = scraper
  const [withKey, without] = [await gateway.get('/health', { key }), await gateway.get('/health', { key: null })]
  assert.deepEqual(Object.keys(withKey.body), Object.keys(without.body))
  await fails(gateway.get('/geofences/1/download', { key }), 403, 'metrics_only')
  await fails(gateway.post('/sessions', { api_key: key }, { key: null }), 403, 'metrics_only')
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
  const { body: asked } = await gateway.post('/access-requests', { name: 'Tablet' }, { key: null })
  for (const [method, path, sent] of [
    ['POST', '/pairing-codes', { ...body, name: 'Tablet' }],
    ['POST', `/access-requests/${asked.request_id}/allow`, body],
    ['PUT', `/users/${scraper.userId}/pin`, { pin: '4711' }],
  ] as const)
    await fails(gateway.request(method, path, { body: sent }), 403, 'metrics_only', path)
})

test('a user who becomes a metrics user loses all open access, and may get it again', async () => {
  const staff = await gateway.createUser({ name: 'Jane', role: 'staff', allowed_hardware_ids: ['*'] })
  const path = `/users/${staff.userId}`
  await gateway.put(`${path}/pin`, { pin: '4711' })
  const tablet = await gateway.pair(staff.userId)
  const [realtime, program] = [await gateway.realtime(staff.key), await gateway.program({}, staff)]
  const ended = new Promise((resolve) => program.once('close', () => resolve(undefined)))
  const ends = Promise.all([once(realtime.socket, 'close'), ended])

  const { body: changed } = await gateway.patch(path, { role: 'metrics' })
  assert.deepEqual([changed.role, changed.allowed_hardware_ids, changed.has_pin], ['metrics', null, false])
  await ends
  assert.equal((await tablet.get('/me')).status, 401)
  const { body: people } = await gateway.get('/people')
  assert.deepEqual(people, [])
  assert.equal((await gateway.get('/carts', { key: staff.key })).status, 403)

  const { body: back } = await gateway.patch(path, { role: 'staff' })
  assert.deepEqual([back.role, back.allowed_hardware_ids], ['staff', null])
  await ok(gateway.get('/carts', { key: staff.key }))
  assert.equal((await gateway.get('/metrics', { key: staff.key })).status, 403)
})

test('the only admin cannot become a metrics user', async () =>
  fails(gateway.patch(`/users/${await gateway.adminId()}`, { role: 'metrics' }), 409, 'last_admin'))

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
  assert.equal((await gateway.get(`/users/${userId}`)).body.role, 'metrics')
  await ok(gateway.get('/metrics', { key }))
  assert.equal((await gateway.get('/stats', { key })).status, 403)
})
