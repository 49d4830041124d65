import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import { MINUTE_MS } from '#shared/time.ts'
import { fails, ok, pluck, scene } from '#testing/scene.ts'

const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000'
// the requesting tablet is the one named in X-Forwarded-For
const { g, clock, onlyFor } = scene({ settings: { CARTBARN_TRUSTED_PROXIES: '127.0.0.1' }, inScope: [] })
let shopId: string

before(async () => {
  shopId = (await g.createUser({ name: 'Shop', role: 'staff', allowed_hardware_ids: ['*'] })).userId
})
// requests left waiting by one test must not affect the next
beforeEach(() => clock.advance(10 * MINUTE_MS))

const ask = (name: unknown = 'Barn tablet', headers: Record<string, string> = {}) =>
  g.post('/access-requests', { name }, { key: null, headers })

const signIn = ({ request_id, secret }: { request_id: string; secret: string }) =>
  g.post('/sessions', { request_id, secret }, { key: null })

const allow = (id: string, user_id = shopId) => g.post(`/access-requests/${id}/allow`, { user_id })

onlyFor('admins', ['GET', '/access-requests'], ['DELETE', `/access-requests/${UNKNOWN_ID}`])
onlyFor('admins', ['POST', `/access-requests/${UNKNOWN_ID}/allow`, { user_id: UNKNOWN_ID }])

test('polling by a waiting tablet does not count as guessing', async () => {
  const { body: asked } = await ask()
  for (let n = 0; n < 50; n++) await fails(signIn(asked), 403, 'not_allowed_yet')
  await allow(asked.request_id)
  await ok(signIn(asked), 201)
})

test('a tablet requests access, an admin compares four digits and approves, and it signs in once', async () => {
  const asked = await ok(ask(), 201)
  assert.match(asked.check, /^\d{4}$/)
  assert.equal(asked.expires_at, new Date(clock.nowMs() + 10 * MINUTE_MS).toISOString())
  await fails(signIn(asked), 403, 'not_allowed_yet')
  const list = await g.get('/access-requests')
  assert.deepEqual(list.body, [
    {
      request_id: asked.request_id,
      name: 'Barn tablet',
      check: asked.check,
      address: 'unknown',
      created_at: new Date(clock.nowMs()).toISOString(),
      expires_at: asked.expires_at,
      allowed: false,
    },
  ])
  assert.deepEqual(await ok(allow(asked.request_id)), { success: true, request_id: asked.request_id })
  assert.equal((await g.get('/access-requests')).body[0].allowed, true)
  await fails(signIn({ request_id: asked.request_id, secret: 'guessed' }), 401, 'invalid_code')
  const made = await signIn(asked)
  assert.deepEqual([made.status, made.body.session.name, made.body.role], [201, 'Barn tablet', 'staff'])
  await fails(signIn(asked), 401, 'invalid_code')
  assert.deepEqual((await g.get('/access-requests')).body, [])
  const { body: log } = await g.get('/audit-log?limit=3')
  assert.deepEqual(pluck(log.entries, 'action'), [
    'session.created',
    'access_request.allowed',
    'access_request.created',
  ])
  assert.ok(!JSON.stringify(log).includes(asked.secret))
})

test('a rejected, expired or unknown request cannot sign in', async () => {
  const [away, late] = [(await ask()).body, (await ask()).body]
  assert.deepEqual(await ok(g.remove(`/access-requests/${away.request_id}`)), {
    success: true,
    deleted: away.request_id,
  })
  await allow(late.request_id)
  clock.advance(10 * MINUTE_MS)
  for (const gone of [away, late]) {
    await fails(signIn(gone), 401, 'invalid_code')
    await fails(allow(gone.request_id), 404, 'request_not_found')
    const path = `/access-requests/${gone.request_id}`
    await fails(g.remove(path), 404, 'request_not_found')
  }
})

test('a request is approved only for an active user and is revoked when that user is disabled', async () => {
  const { body: asked } = await ask()
  const { userId } = await g.createUser({ name: 'Leaves' })
  await fails(allow(asked.request_id, UNKNOWN_ID), 404, 'user_not_found')
  await g.patch(`/users/${userId}`, { is_active: false })
  await fails(allow(asked.request_id, userId), 409, 'user_inactive')
  await g.patch(`/users/${userId}`, { is_active: true })
  await ok(allow(asked.request_id, userId))
  await g.patch(`/users/${userId}`, { is_active: false })
  await g.patch(`/users/${userId}`, { is_active: true })
  await fails(signIn(asked), 401, 'invalid_code')
})

test('three requests per address and twenty in all may wait, and expired ones make room', async () => {
  const from = (address: string) =>
    fetch(`${g.http}/access-requests`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
      body: '{"name":"Tablet"}',
    })
  for (let i = 0; i < 3; i++) await ok(from('10.0.0.1'), 201)
  const fourth = await from('10.0.0.1')
  assert.equal(fourth.status, 429)
  assert.equal(fourth.headers.get('retry-after'), '600')
  for (let i = 0; i < 17; i++) await ok(from(`10.0.1.${i}`), 201)
  const last = await from('10.0.2.1')
  const problem: unknown = await last.json()
  assert.deepEqual([last.status, Reflect.get(Object(problem), 'code')], [429, 'too_many_requests'])
  clock.advance(10 * MINUTE_MS)
  await ok(from('10.0.0.1'), 201)
})

for (const [what, name, status] of [
  ['HTML', '<script>', 201],
  ['emoji', '⛳', 201],
  ['101 characters', 'x'.repeat(101), 400],
  ['a number', 5, 400],
] as const)
  test(`a request with ${what} as its name is ${status}`, async () => assert.equal((await ask(name)).status, status))

test('a page from another origin cannot request access', async () => {
  await fails(ask('x', { origin: 'http://evil.example' }), 403, 'foreign_origin')
  await ok(ask('x', { origin: 'http://localhost' }), 201)
})
