import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashSecret } from '#shared/ids.ts'
import { fails, ok, pluck, publish, scene } from '#testing/scene.ts'
import { ADMIN_KEY, startFor } from '#testing/start-gateway.ts'

const START_MS = Date.UTC(2026, 4, 1, 12)
const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000'
const { g, clock, onlyFor } = scene({ nowMs: START_MS, inScope: ['cart-1'] })
const userOf = async (userId: string) => ok(g.get(`/users/${userId}`))

const ROUTES: [method: string, path: string, body?: object][] = [
  ['GET', '/users'],
  ['POST', '/users', { name: 'New' }],
  ['GET', `/users/${UNKNOWN_ID}`],
  ['PATCH', `/users/${UNKNOWN_ID}`, { name: 'New' }],
  ['DELETE', `/users/${UNKNOWN_ID}`],
  ['POST', `/users/${UNKNOWN_ID}/rotate-key`],
]

for (const [method, path, body] of ROUTES) {
  onlyFor('admins', [method, path, body])
  if (path === '/users') continue
  test(`${method} ${path.replace(UNKNOWN_ID, ':id')}: an unknown id is 404`, () =>
    fails(g.request(method, path, body === undefined ? {} : { body }), 404, 'user_not_found'))
}

test('a new user with only a name has the defaults and nothing else', async () => {
  const { status, headers, body } = await g.post('/users', { name: '  Jane  ' })
  const nowIso = new Date(clock.nowMs()).toISOString()
  assert.equal(status, 201)
  assert.equal(headers.get('location'), `/users/${body.user.user_id}`)
  assert.deepEqual(Object.keys(body).sort(), ['api_key', 'user', 'warning'])
  assert.match(body.api_key, /^flt_[A-Za-z0-9_-]{43}$/)
  assert.ok(body.warning.length > 0)
  assert.deepEqual(body.user, {
    user_id: body.user.user_id,
    name: 'Jane',
    role: 'user',
    is_active: true,
    allowed_hardware_ids: null,
    mask_codes: false,
    has_pin: false,
    created_at: nowIso,
    updated_at: nowIso,
    usage: { total_requests: 0, requests_today: 0, last_reset: nowIso },
  })
  assert.deepEqual(await userOf(body.user.user_id), body.user)
})

test('a new user has the requested fields', async () => {
  const fields = {
    name: 'Kiosk',
    email: 'kiosk@club.example',
    role: 'admin',
    allowed_hardware_ids: ['b', 'a', 'b', 'not-registered-yet'],
  }
  const { body } = await g.post('/users', fields)
  const { name, email, role, allowed_hardware_ids } = body.user
  assert.deepEqual(
    { name, email, role, allowed_hardware_ids },
    { ...fields, allowed_hardware_ids: ['b', 'a', 'not-registered-yet'] },
  )
  await ok(g.get('/users', { key: body.api_key }))
})

for (const ids of [null, []])
  test(`allowed_hardware_ids ${JSON.stringify(ids)} is returned as given and allows no device`, async () => {
    const { userId, key } = await g.createUser({ allowed_hardware_ids: ids })
    assert.deepEqual((await userOf(userId)).allowed_hardware_ids, ids)
    assert.deepEqual((await g.get('/devices', { key })).body.devices, [])
  })

const tooMany = Array.from({ length: 5001 }, (_, i) => `c${i}`)

for (const [what, fields, code, name] of [
  ['no name', {}, 'missing_field', 'name'],
  ['name null', { name: null }, 'invalid_field', 'name'],
  ['a number as name', { name: 5 }, 'invalid_field', 'name'],
  ['an empty name', { name: '' }, 'invalid_field', 'name'],
  ['a blank name', { name: ' \t ' }, 'invalid_field', 'name'],
  ['a name of 201', { name: 'x'.repeat(201) }, 'invalid_field', 'name'],
  ['an e-mail without @', { name: 'A', email: 'jane' }, 'invalid_field', 'email'],
  ['an e-mail with two @', { name: 'A', email: 'a@b@c' }, 'invalid_field', 'email'],
  ['an e-mail that is all domain', { name: 'A', email: '@club.example' }, 'invalid_field', 'email'],
  ['an e-mail with a space', { name: 'A', email: 'a b@c.d' }, 'invalid_field', 'email'],
  ['a number as e-mail', { name: 'A', email: 1 }, 'invalid_field', 'email'],
  ['an unknown role', { name: 'A', role: 'root' }, 'invalid_field', 'role'],
  ['role null', { name: 'A', role: null }, 'invalid_field', 'role'],
  ['ids as text', { name: 'A', allowed_hardware_ids: 'a,b' }, 'invalid_field', 'allowed_hardware_ids'],
  ['a number as id', { name: 'A', allowed_hardware_ids: [1] }, 'invalid_field', 'allowed_hardware_ids[0]'],
  ['an empty id', { name: 'A', allowed_hardware_ids: ['a', ''] }, 'invalid_field', 'allowed_hardware_ids[1]'],
  ['5001 ids', { name: 'A', allowed_hardware_ids: tooMany }, 'invalid_field', 'allowed_hardware_ids'],
  ['a misspelt field', { name: 'A', allowed_hardware_id: ['a'] }, 'unknown_field', 'allowed_hardware_id'],
  ['a field of the answer', { name: 'A', user_id: UNKNOWN_ID }, 'unknown_field', 'user_id'],
] as [string, object, string, string][])
  test(`POST /users with ${what} is 400 ${code} and creates no user`, async () => {
    const before = (await g.get('/users')).body.length
    const { status, body } = await g.post('/users', fields)
    assert.equal(status, 400)
    assert.equal(body.code, code)
    assert.deepEqual([body.errors[0].in, body.errors[0].name, body.errors[0].code], ['body', name, code])
    assert.equal((await g.get('/users')).body.length, before)
  })

for (const [what, fields] of [
  ['a name of 200 and blanks around it', { name: ` ${'ü'.repeat(200)} ` }],
  ['an e-mail of one letter each', { name: 'A', email: 'a@b' }],
  ['e-mail null', { name: 'A', email: null }],
  ['an empty e-mail', { name: 'A', email: '' }],
  ['5000 ids, some of them twice', { name: 'A', allowed_hardware_ids: [...tooMany.slice(1), 'c1', 'c2'] }],
] as [string, object][])
  test(`POST /users with ${what} is accepted`, () => ok(g.post('/users', fields), 201))

test('the first hundred of very many errors are listed', async () => {
  const fields = { name: 'A', allowed_hardware_ids: Array.from({ length: 5000 }, () => 1) }
  const { status, body } = await g.post('/users', fields)
  assert.equal(status, 400)
  assert.equal(body.errors.length, 100)
})

test('PATCH changes the given fields, leaves the rest and moves updated_at', async () => {
  const { userId } = await g.createUser({ name: 'Old', email: 'old@a.b', allowed_hardware_ids: ['a'] })
  const old = await userOf(userId)
  clock.advance(5000)
  const body = await ok(g.patch(`/users/${userId}`, { name: ' New ' }))
  assert.deepEqual(body, { ...old, name: 'New', updated_at: new Date(clock.nowMs()).toISOString() })
  assert.deepEqual(await userOf(userId), body)
})

test('PATCH {} is 200 and moves nothing', async () => {
  const { userId } = await g.createUser({ name: 'Same' })
  const old = await userOf(userId)
  clock.advance(5000)
  assert.deepEqual(await ok(g.patch(`/users/${userId}`, {})), old)
})

for (const [field, given, expected] of [
  ['email', null, undefined],
  ['email', '', undefined],
  ['email', '  ', undefined],
  ['email', 'new@a.b', 'new@a.b'],
  ['allowed_hardware_ids', null, null],
  ['allowed_hardware_ids', [], []],
  ['allowed_hardware_ids', ['x', 'x', 'y'], ['x', 'y']],
  ['role', 'admin', 'admin'],
  ['is_active', false, false],
] as const)
  test(`PATCH ${field} to ${JSON.stringify(given)} changes only that`, async () => {
    const { userId } = await g.createUser({ email: 'a@b.c', allowed_hardware_ids: ['a'] })
    const old = await userOf(userId)
    const { body } = await g.patch(`/users/${userId}`, { [field]: given })
    const changed = { ...old, [field]: expected, updated_at: body.updated_at }
    // cleared fields are absent, not null
    assert.deepEqual(body, JSON.parse(JSON.stringify(changed)))
  })

for (const [what, fields, code] of [
  ['name null', { name: null }, 'invalid_field'],
  ['role null', { role: null }, 'invalid_field'],
  ['is_active null', { is_active: null }, 'invalid_field'],
  ['is_active 0', { is_active: 0 }, 'invalid_field'],
  ['is_active as text', { is_active: 'false' }, 'invalid_field'],
  ['a blank name', { name: '  ' }, 'invalid_field'],
  ['a bad e-mail', { email: 'a@b@c' }, 'invalid_field'],
  ['an unknown role', { role: 'owner' }, 'invalid_field'],
  ['5001 ids', { allowed_hardware_ids: tooMany }, 'invalid_field'],
  ['an unknown field next to a valid one', { name: 'Good', nmae: 'x' }, 'unknown_field'],
] as [string, object, string][])
  test(`PATCH with ${what} is 400 ${code} and changes nothing`, async () => {
    const { userId } = await g.createUser({ name: 'Kept' })
    const old = await userOf(userId)
    await fails(g.patch(`/users/${userId}`, fields), 400, code)
    assert.deepEqual(await userOf(userId), old)
  })

test('a disabled user is locked out immediately, and enabled again with the same key', async () => {
  const { userId, key } = await g.createUser({})
  await ok(g.get('/devices', { key }))
  await g.patch(`/users/${userId}`, { is_active: false })
  assert.equal((await g.get('/devices', { key })).body.code, 'user_inactive')
  await g.patch(`/users/${userId}`, { is_active: true })
  await ok(g.get('/devices', { key }))
})

test('a changed role and scope apply from the next request on', async () => {
  await g.register('scoped-cart')
  const { userId, key } = await g.createUser({ allowed_hardware_ids: ['scoped-cart'] })
  const path = '/devices/scoped-cart'
  await ok(g.get(path, { key }))
  await g.patch(`/users/${userId}`, { allowed_hardware_ids: [] })
  assert.equal((await g.get(path, { key })).status, 403)
  await g.patch(`/users/${userId}`, { role: 'admin' })
  await ok(g.get(path, { key }))
  await ok(g.get('/users', { key }))
})

test('rotating shows a new key once, and the old one is invalid immediately', async () => {
  const { userId, key } = await g.createUser({})
  const body = await ok(g.post(`/users/${userId}/rotate-key`))
  assert.deepEqual(Object.keys(body).sort(), ['api_key', 'success', 'warning'])
  assert.equal(body.success, true)
  assert.notEqual(body.api_key, key)
  assert.match(body.api_key, /^flt_[A-Za-z0-9_-]{43}$/)
  assert.equal((await g.get('/devices', { key })).body.code, 'invalid_api_key')
  await ok(g.get('/devices', { key: body.api_key }))
})

test('a deleted user is gone together with the key; a second DELETE is 404', async () => {
  const { userId, key } = await g.createUser({})
  assert.deepEqual(await ok(g.remove(`/users/${userId}`)), { success: true, deleted: userId })
  assert.equal((await g.get('/devices', { key })).body.code, 'invalid_api_key')
  assert.equal((await g.get(`/users/${userId}`)).status, 404)
  await fails(g.remove(`/users/${userId}`), 404, 'user_not_found')
})

test('users are listed by creation, then by id, as a bare array of the same shape', async () => {
  await Promise.all(Array.from({ length: 5 }, (_, i) => g.createUser({ name: `Same time ${i}` })))
  const { body } = await g.get('/users')
  assert.ok(Array.isArray(body))
  const expected = body.toSorted((a: { created_at: string; user_id: string }, b: typeof a) =>
    a.created_at === b.created_at ? (a.user_id < b.user_id ? -1 : 1) : a.created_at < b.created_at ? -1 : 1,
  )
  assert.deepEqual(body, expected)
  for (const user of body) {
    const shown = await userOf(user.user_id)
    assert.deepEqual({ ...shown, usage: null }, { ...user, usage: null })
  }
})

test('only the first response holds a key, and no response its hash', async () => {
  const { userId, key } = await g.createUser({})
  const answers = [
    await g.get('/users'),
    await g.get(`/users/${userId}`),
    await g.patch(`/users/${userId}`, { name: 'Other' }),
    await g.post(`/users/${userId}/rotate-key`),
    await g.get('/metrics'),
    await g.remove(`/users/${userId}`),
  ]
  for (const { body } of answers) {
    const text = JSON.stringify(body)
    assert.ok(!text.includes(key) && !text.includes(hashSecret(key)) && !text.includes(hashSecret(ADMIN_KEY)))
    assert.ok(!text.includes(ADMIN_KEY))
  }
})

test('usage counts every request with the key, errors too', async () => {
  const { userId, key } = await g.createUser({})
  clock.advance(1000)
  const firstIso = new Date(clock.nowMs()).toISOString()
  await g.get('/devices', { key })
  await g.get('/users', { key })
  await g.get('/nowhere', { key })
  clock.advance(1000)
  await g.get('/devices?limit=0', { key })
  assert.deepEqual((await userOf(userId)).usage, {
    total_requests: 4,
    requests_today: 4,
    last_reset: new Date(clock.nowMs() - 2000).toISOString(),
    first_used_at: firstIso,
    last_used_at: new Date(clock.nowMs()).toISOString(),
  })
})

test('a request with an invalid key or by a disabled user counts for no user', async () => {
  const { userId, key } = await g.createUser({})
  await g.patch(`/users/${userId}`, { is_active: false })
  await g.get('/devices', { key })
  assert.equal((await userOf(userId)).usage.total_requests, 0)
})

test('rotating the key and changing a user keep the usage', async () => {
  const { userId, key } = await g.createUser({})
  await g.get('/devices', { key })
  await g.patch(`/users/${userId}`, { name: 'Renamed' })
  const { body } = await g.post(`/users/${userId}/rotate-key`)
  await g.get('/devices', { key: body.api_key })
  assert.equal((await userOf(userId)).usage.total_requests, 2)
})

test('requests_today restarts at midnight UTC, also for an idle user', async () => {
  const { userId, key } = await g.createUser({})
  await g.get('/devices', { key })
  await g.get('/devices', { key })
  const usedAt = new Date(clock.nowMs()).toISOString()
  clock.set(Date.UTC(2026, 4, 1, 23, 59, 59, 999))
  assert.equal((await userOf(userId)).usage.requests_today, 2)
  clock.set(Date.UTC(2026, 4, 2))
  const { usage } = await userOf(userId)
  assert.deepEqual(usage, {
    total_requests: 2,
    requests_today: 0,
    last_reset: '2026-05-02T00:00:00.000Z',
    first_used_at: usedAt,
    last_used_at: usedAt,
  })
  await g.get('/devices', { key })
  const used = (await userOf(userId)).usage
  assert.deepEqual([used.total_requests, used.requests_today], [3, 1])
  const listed = (await g.get('/users')).body.find((u: { user_id: string }) => u.user_id === userId)
  assert.deepEqual(listed.usage, used)
})

test('users, keys and usage survive a restart', async () => {
  const { userId, key } = await g.createUser({ email: 'a@b.c', allowed_hardware_ids: ['z', 'a'] })
  await g.get('/devices', { key })
  await g.get('/nowhere', { key })
  const user = await userOf(userId)
  await g.restart()
  assert.deepEqual(await userOf(userId), user)
  await g.get('/devices', { key })
  assert.equal((await userOf(userId)).usage.total_requests, 3)
})

for (const [what, method, body] of [
  ['deleted', 'DELETE', undefined],
  ['demoted', 'PATCH', { role: 'user' }],
  ['disabled', 'PATCH', { is_active: false }],
] as const)
  test(`the last active admin cannot be ${what}, and the request changes nothing else`, async (t) => {
    const own = await startFor(t)

    const id = await own.adminId()
    // a disabled admin does not count
    const other = await own.createUser({ name: 'Other', role: 'admin' })
    await own.patch(`/users/${other.userId}`, { is_active: false })
    const more = body === undefined ? {} : { body: { ...body, name: 'Renamed' } }
    await fails(own.request(method, `/users/${id}`, more), 409, 'last_admin')
    const kept = (await own.get(`/users/${id}`)).body
    assert.deepEqual([kept.name, kept.role, kept.is_active], ['Admin', 'admin', true])

    await own.patch(`/users/${other.userId}`, { is_active: true })
    await ok(own.request(method, `/users/${id}`, more))
    await ok(own.get('/users', { key: other.key }))
  })

test('of two admins who remove each other concurrently one stays', async (t) => {
  const own = await startFor(t)

  const id = await own.adminId()
  const other = await own.createUser({ role: 'admin' })
  const answers = await Promise.all([
    own.remove(`/users/${other.userId}`),
    own.patch(`/users/${id}`, { role: 'user' }, { key: other.key }),
  ])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409])
})

test('the first admin is created once: a restart with the same key creates no second', async () => {
  const before = (await g.get('/users')).body.length
  await g.restart()
  assert.equal((await g.get('/users')).body.length, before)
})

test('5000 ids of maximum length fit into one request', async () => {
  const ids = Array.from({ length: 5000 }, (_, i) => `${'c'.repeat(60)}${String(i).padStart(4, '0')}`)
  const body = await ok(g.post('/users', { name: 'Fleet', allowed_hardware_ids: ids }), 201)
  assert.deepEqual(body.user.allowed_hardware_ids, ids)
})

test('a lone star allows every device, now and later, over HTTP, realtime and MQTT', async () => {
  const user = await g.createUser({ name: 'Starter', allowed_hardware_ids: ['*', '*'] })
  assert.deepEqual((await userOf(user.userId)).allowed_hardware_ids, ['*'])
  const realtime = await g.realtime(user.key)
  realtime.send({ type: 'subscribe', hardwareIds: ['*'] })
  await realtime.next('subscribed')
  const program = await g.program({}, user)
  assert.deepEqual(pluck(await program.subscribeAsync('dev/+/evt', { qos: 0 }), 'qos'), [0])
  const received = new Promise((resolve) => program.once('message', resolve))

  const device = await g.device('cart-of-tomorrow')
  await publish(device, 'dev/cart-of-tomorrow/evt', { eid: '1', event: 'unlock', source: 'rfid' })
  assert.equal(await received, 'dev/cart-of-tomorrow/evt')
  assert.equal((await realtime.next('device_unlocked')).hardwareId, 'cart-of-tomorrow')
  for (const path of [
    '/devices/cart-of-tomorrow',
    '/devices/cart-of-tomorrow/gps?limit=1',
    '/devices/cart-of-tomorrow/commands',
  ])
    await ok(g.get(path, { key: user.key }))
  for (const path of ['/devices', '/lock-events', '/geofence-events', '/trips/active?hardware_ids=cart-of-tomorrow'])
    assert.deepEqual(await ok(g.get(path, { key: user.key })), (await g.get(path)).body, path)
  assert.equal((await g.get('/lock-events', { key: user.key })).body.events.length, 1)
})

test('a star together with other ids is rejected', async () => {
  const fields = { allowed_hardware_ids: ['*', 'cart-1'] }
  for (const [method, path, body] of [
    ['POST', '/users', { name: 'Starter', ...fields }],
    ['PATCH', `/users/${await g.adminId()}`, fields],
  ] as const) {
    const answer = await g.request(method, path, { body })
    assert.equal(answer.status, 400)
    assert.match(answer.body.detail, /must be \* alone, or name devices/)
  }
})
