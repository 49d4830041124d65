import assert from 'node:assert/strict'
import { before, beforeEach, describe, test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import { fails, ok, scene } from '#testing/scene.ts'
import { ADMIN_KEY, type Browser, startFor } from '#testing/start-gateway.ts'

const START_MS = Date.UTC(2026, 4, 1, 12)
const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000'
const { g, clock, keys, onlyFor } = scene({ nowMs: START_MS, devices: ['cart-1', 'cart-2'], inScope: ['cart-1'] })
let staffId: string

before(async () => {
  staffId = (await g.createUser({ name: 'Shop', role: 'staff', allowed_hardware_ids: ['*'] })).userId
})
// failed keys of one test must not lock out those of the next
beforeEach(() => clock.advance(10 * MINUTE_MS))

const newCode = async (userId = staffId, name = 'Tablet'): Promise<string> =>
  (await ok(g.post('/pairing-codes', { user_id: userId, name }), 201)).code

const signIn = (proof: object, headers: Record<string, string> = {}) =>
  g.post('/sessions', proof, { key: null, headers })

onlyFor('admins', ['GET', '/sessions'], ['DELETE', `/sessions/${UNKNOWN_ID}`])
onlyFor('admins', ['POST', '/pairing-codes', { user_id: UNKNOWN_ID, name: 'Tablet' }])

for (const [method, path, body] of [
  ['DELETE', '/sessions/current'],
  ['POST', '/sessions/current/person', { user_id: UNKNOWN_ID, pin: '1234' }],
  ['DELETE', '/sessions/current/person'],
  ['POST', '/sessions/current/key'],
] as [string, string, object?][]) {
  onlyFor('any key', [method, path, body])
  test(`${method} ${path} with a key is 404 session_not_found`, () =>
    fails(g.request(method, path, { body }), 404, 'session_not_found'))
}

test('POST /sessions/current/key is 403 admin_required for a browser that is not in setup', async () => {
  const browser = await g.signIn()
  await fails(browser.post('/sessions/current/key'), 403, 'admin_required')
})

describe('a pairing code', () => {
  test('has twelve characters, is valid for five minutes and links to the host of its request', async () => {
    const body = { user_id: staffId, name: 'Starter tablet' }
    const answer = await g.post('/pairing-codes', body, { headers: { host: 'barn.example:8080' } })
    assert.match(answer.body.code, /^[0-9A-HJKMNP-TV-Z]{12}$/)
    assert.equal(answer.body.expires_at, new Date(clock.nowMs() + 5 * MINUTE_MS).toISOString())
    assert.equal(answer.body.url, `http://barn.example:8080/app/#pair=${answer.body.code}`)
    assert.ok(!answer.headers.get('location')?.includes(answer.body.code))
  })

  test('signs one browser in, once, in any way of typing', async () => {
    const code = await newCode(staffId, 'Barn')
    const typed = `${code.slice(0, 4).toLowerCase()}-${code.slice(4, 8)} ${code.slice(8)}`
    const { status, headers, body } = await signIn({ code: typed })
    assert.equal(status, 201)
    assert.deepEqual([body.user.user_id, body.role, body.scope], [staffId, 'staff', 'all'])
    assert.deepEqual([body.session.name, body.session.person], ['Barn', null])
    const cookie = headers.get('set-cookie') ?? ''
    assert.match(cookie, /^cartbarn_session=[\w-]{43}; Max-Age=34560000; Path=\/; HttpOnly; SameSite=Strict$/)
    await fails(signIn({ code }), 401, 'invalid_code')
  })

  test('can be used by one of many concurrent sign-ins', async () => {
    const code = await newCode()
    const answers = await Promise.all(Array.from({ length: 10 }, () => signIn({ code })))
    assert.equal(answers.filter(({ status }) => status === 201).length, 1)
  })

  test('expires after five minutes, by either clock', async () => {
    const [late, ahead] = [await newCode(), await newCode()]
    clock.advance(5 * MINUTE_MS)
    await fails(signIn({ code: late }), 401, 'invalid_code')
    await fails(signIn({ code: ahead }), 401, 'invalid_code')
    const back = await newCode()
    const nowMs = clock.nowMs()
    clock.advance(6 * MINUTE_MS)
    clock.set(nowMs + 2 * MINUTE_MS)
    await fails(signIn({ code: back }), 401, 'invalid_code')
    clock.set(nowMs + 6 * MINUTE_MS)
  })

  test('is revoked when its user is disabled or deleted, and is not created for such a user', async () => {
    const { userId } = await g.createUser({ name: 'Leaves' })
    const [code, other] = [await newCode(userId), await newCode(userId)]
    await g.patch(`/users/${userId}`, { is_active: false })
    const body = { user_id: userId, name: 'Tablet' }
    await fails(g.post('/pairing-codes', body), 409, 'user_inactive')
    await g.patch(`/users/${userId}`, { is_active: true })
    await fails(signIn({ code }), 401, 'invalid_code')
    const later = await newCode(userId)
    await g.remove(`/users/${userId}`)
    for (const void_ of [other, later]) await fails(signIn({ code: void_ }), 401, 'invalid_code')
    await fails(g.post('/pairing-codes', body), 404, 'user_not_found')
  })

  for (const [what, name, status] of [
    ['HTML', '<img src=x onerror=alert(1)>', 201],
    ['emoji', '🏌️‍♀️ 1️⃣', 201],
    ['right-to-left', 'לוח הסטרטר', 201],
    ['a direction override', 'Tablet \u202e', 400],
    ['100 characters', 'x'.repeat(100), 201],
    ['101 characters', 'x'.repeat(101), 400],
    ['blanks', '   ', 400],
    ['a line break', 'a\nb', 400],
    ['nothing', undefined, 400],
  ] as const)
    test(`with ${what} as its name is ${status}, and the name is stored unchanged`, async () => {
      const answer = await g.post('/pairing-codes', { user_id: staffId, name })
      assert.equal(answer.status, status)
      if (status !== 201) return
      const browser = await g.signIn({ code: answer.body.code })
      assert.equal((await browser.me()).session.name, name)
      assert.ok((await g.get('/sessions')).body.some((one: { name: string }) => one.name === name))
    })
})

describe('signing in', () => {
  test('with a key creates a session called browser, or with the given name', async () => {
    const one = await signIn({ api_key: keys['in scope'] })
    assert.deepEqual([one.status, one.body.session.name, one.body.scope], [201, 'browser', ['cart-1']])
    const other = await signIn({ api_key: keys['in scope'], name: 'Laptop' })
    assert.equal(other.body.session.name, 'Laptop')
  })

  for (const [what, body, status, code] of [
    ['nothing', {}, 400, 'invalid_field'],
    ['a code and a key', { code: 'AAAABBBBCCCC', api_key: ADMIN_KEY }, 400, 'invalid_field'],
    ['a request without its secret', { request_id: UNKNOWN_ID }, 400, 'invalid_field'],
    ['a code with a name', { code: 'AAAABBBBCCCC', name: 'x' }, 400, 'invalid_field'],
    ['an unknown field', { pin: '1234' }, 400, 'unknown_field'],
    ['a wrong code', { code: 'AAAABBBBCCCC' }, 401, 'invalid_code'],
    ['no code at all', { code: 'x' }, 401, 'invalid_code'],
    ['a wrong key', { api_key: 'flt_nobody' }, 401, 'invalid_api_key'],
    ['an unknown request', { request_id: UNKNOWN_ID, secret: 'x' }, 401, 'invalid_code'],
  ] as const)
    test(`with ${what} is ${status} ${code}`, () => fails(signIn(body), status, code))

  test('with the key of a disabled user is 401 user_inactive', () =>
    fails(signIn({ api_key: keys['a disabled user'] }), 401, 'user_inactive'))

  test('is rate-limited for an address after 20 wrong codes, except with a valid code', async () => {
    const code = await newCode()
    const codes: unknown[] = []
    for (let i = 0; i < 21; i++) codes.push((await signIn({ code: 'AAAABBBBCCCC' })).body.code)
    assert.deepEqual([codes[0], codes[19], codes[20]], ['invalid_code', 'invalid_code', 'rate_limited'])
    await ok(signIn({ code }), 201)
  })

  for (const [what, origin, status] of [
    ['another port', 'http://localhost:3000', 403],
    ['another scheme', 'https://localhost', 403],
    ['another host', 'http://evil.example', 403],
    ['null', 'null', 403],
    ['its own', 'http://localhost', 201],
  ] as const)
    test(`with the Origin of ${what} is ${status}`, () =>
      fails(signIn({ api_key: ADMIN_KEY }, { origin }), status, status === 403 ? 'foreign_origin' : undefined))
})

describe('GET /sessions/current', () => {
  test('is 200 without a user if there is no cookie', async () =>
    assert.deepEqual(await ok(g.get('/sessions/current', { key: null })), { me: null }))

  test('returns the user of the cookie, as GET /me does', async () => {
    const browser = await g.signIn()
    const { body } = await browser.get('/sessions/current')
    const { body: me } = await browser.get('/me')
    assert.deepEqual([body.me.session, body.me.role, body.me.site], [me.session, me.role, me.site])
    await browser.remove('/sessions/current')
    const { status, body: after } = await browser.get('/sessions/current')
    assert.deepEqual([status, after], [200, { me: null }])
  })

  test('returns no user for an unknown cookie, which it clears', async () => {
    const headers = { cookie: `cartbarn_session=${'A'.repeat(43)}` }
    const { status, body, headers: given } = await g.get('/sessions/current', { key: null, headers })
    assert.deepEqual([status, body], [200, { me: null }])
    assert.match(given.get('set-cookie') ?? '', /^cartbarn_session=; Max-Age=0/)
  })
})

describe('a cookie', () => {
  test('does not authorise a change without a matching Origin', async () => {
    const browser = await g.pair(staffId)
    const name = { name: 'Cart one' }
    for (const origin of [null, 'null', 'http://localhost:3000', 'http://localhost.evil.example', 'localhost', '']) {
      for (const [method, path, body] of [
        ['PATCH', '/devices/cart-1', name],
        ['POST', '/devices/cart-1/commands', { command: 'lock' }],
        ['PUT', `/users/${staffId}/pin`, { pin: '1234' }],
        ['DELETE', '/sessions/current'],
      ] as [string, string, object?][]) {
        const answer = browser.request(method, path, { origin, body })
        await fails(answer, 403, 'foreign_origin', `${method} with ${origin}`)
      }
      await ok(browser.get('/devices', { origin }))
    }
    await ok(browser.patch('/devices/cart-1', name))
    const sent = { body: name, headers: { host: 'Barn.example:80' }, origin: 'http://barn.example' }
    await ok(browser.request('PATCH', '/devices/cart-1', sent))
  })

  test('without a session is 401 invalid_session after the Origin check, and is cleared', async () => {
    const headers = { cookie: 'cartbarn_session=nobody' }
    const read = await g.get('/devices', { key: null, headers })
    assert.deepEqual([read.status, read.body.code], [401, 'invalid_session'])
    assert.match(read.headers.get('set-cookie') ?? '', /^cartbarn_session=; Max-Age=0; Path=\//)
    await fails(g.patch('/devices/cart-1', { name: 'x' }, { key: null, headers }), 403, 'foreign_origin')
  })

  test('is ignored if there is a key, even an invalid one', async () => {
    const browser = await g.pair(staffId)
    const headers = { 'x-api-key': ADMIN_KEY }
    const { body } = await browser.get('/me', { headers })
    assert.deepEqual([body.role, body.session], ['admin', null])
    await ok(browser.patch('/devices/cart-1', { name: 'x' }, { headers, origin: null }))
    await fails(browser.get('/me', { headers: { 'x-api-key': 'flt_bad' } }), 401, 'invalid_api_key')
  })

  test('is renewed before its browser could drop it', async () => {
    const browser = await g.pair(staffId)
    assert.equal((await browser.get('/me')).headers.get('set-cookie'), null)
    clock.advance(DAY_MS)
    assert.match((await browser.get('/me')).headers.get('set-cookie') ?? '', /Max-Age=34560000/)
  })
})

describe('a session', () => {
  test('has the documented fields, and the list is sorted by creation', async () => {
    const { userId } = await g.createUser({ name: 'Lister' })
    const browser = await g.pair(userId, 'One')
    const atMs = clock.nowMs()
    clock.advance(MINUTE_MS)
    await g.pair(userId, 'Two')
    await browser.get('/me')
    const { body } = await g.get('/sessions')
    const own = body.filter((one: { user_id: string }) => one.user_id === userId)
    assert.deepEqual(own[0], {
      session_id: browser.sessionId,
      user_id: userId,
      name: 'One',
      person: null,
      created_at: new Date(atMs).toISOString(),
      last_used_at: new Date(atMs + MINUTE_MS).toISOString(),
      expires_at: new Date(atMs + MINUTE_MS + 400 * DAY_MS).toISOString(),
    })
    assert.equal(own[1].name, 'Two')
  })

  test('counts as usage of its user', async () => {
    const { userId } = await g.createUser({ name: 'Counted' })
    const browser = await g.pair(userId)
    for (let i = 0; i < 3; i++) await browser.get('/devices')
    assert.equal((await g.get(`/users/${userId}`)).body.usage.total_requests, 4)
  })

  test('ends by signing out, which clears the cookie', async () => {
    const browser = await g.pair(staffId)
    const { status, headers, body } = await browser.remove('/sessions/current')
    assert.deepEqual([status, body], [200, { success: true, deleted: browser.sessionId }])
    assert.match(headers.get('set-cookie') ?? '', /Max-Age=0/)
    await fails(browser.get('/me'), 401, 'invalid_session')
  })

  test('ends when an admin deletes it, once', async () => {
    const browser = await g.pair(staffId)
    const path = `/sessions/${browser.sessionId}`
    assert.deepEqual(await ok(g.remove(path)), { success: true, deleted: browser.sessionId })
    await fails(g.remove(path), 404, 'session_not_found')
    await fails(browser.get('/me'), 401, 'invalid_session')
  })

  for (const [what, method, path, body] of [
    ['disabled', 'PATCH', '', { is_active: false }],
    ['deleted', 'DELETE', '', undefined],
    ['given another key', 'POST', '/rotate-key', undefined],
  ] as const)
    test(`ends when its user is ${what}, also over a restart`, async () => {
      const { userId } = await g.createUser({ name: 'Ends' })
      const browser = await g.pair(userId)
      await ok(g.request(method, `/users/${userId}${path}`, { body }))
      await fails(browser.get('/me'), 401, 'invalid_session')
      if (what === 'disabled') await g.patch(`/users/${userId}`, { is_active: true })
      await g.restart()
      await fails(browser.get('/me'), 401, 'invalid_session')
    })

  test('survives a restart with its time of last use', async () => {
    const browser = await g.pair(staffId, 'Survivor')
    clock.advance(HOUR_MS)
    await browser.get('/me')
    const usedAt = new Date(clock.nowMs()).toISOString()
    await g.restart()
    const { body } = await g.get('/sessions')
    const [own] = body.filter((one: { session_id: string }) => one.session_id === browser.sessionId)
    assert.equal(own.last_used_at, usedAt)
    assert.equal((await browser.me()).session.name, 'Survivor')
  })

  test('number 101 of a user ends the least recently used one', async () => {
    const { userId, key } = await g.createUser({ name: 'Many' })
    const browsers: Browser[] = []
    for (let i = 0; i < 100; i++) {
      browsers.push(await g.signIn({ api_key: key }))
      clock.advance(1)
    }
    const statusOf = async (i: number) => (await browsers[i]?.get('/me'))?.status
    assert.equal(await statusOf(0), 200)
    await Promise.all([g.signIn({ api_key: key }), g.signIn({ api_key: key })])
    assert.deepEqual([await statusOf(0), await statusOf(1), await statusOf(2), await statusOf(3)], [200, 401, 401, 200])
    const { body } = await g.get('/sessions')
    assert.equal(body.filter((one: { user_id: string }) => one.user_id === userId).length, 100)
  })

  test('ends after 400 days without use', async () => {
    const [used, unused] = [await g.pair(staffId), await g.pair(staffId)]
    for (const days of [399, 399]) {
      clock.advance(days * DAY_MS)
      await ok(used.get('/me'))
    }
    assert.equal((await unused.get('/me')).status, 401)
  })

  test('keeps itself and its rights when the clock is corrected', async (t) => {
    const ownClock = new FakeClock(START_MS)
    const own = await startFor(t, {}, { clock: ownClock })
    const browser = await own.signIn()
    ownClock.set(START_MS + 500 * DAY_MS)
    assert.equal((await browser.me()).role, 'admin')
    // while the clock is unconfirmed, it expires no session
    const unused = await own.signIn()
    ownClock.set(START_MS + 1_000 * DAY_MS)
    await own.restart()
    assert.equal((await unused.me()).session.session_id, unused.sessionId)
  })

  test('of an admin has staff rights from ten minutes after its creation on', async () => {
    const browser = await g.signIn()
    await ok(browser.get('/users'))
    assert.equal((await browser.me()).role, 'admin')
    clock.advance(10 * MINUTE_MS)
    const me = await browser.me()
    assert.deepEqual([me.role, me.scope, me.user.role], ['staff', 'all', 'admin'])
    await fails(browser.get('/users'), 403, 'admin_required')
    await ok(browser.get('/groups'))
  })
})

test('signing in again in the same browser ends the previous session', async () => {
  const { key } = await g.createUser({ role: 'admin' })
  const body = { api_key: key }
  const cookieOf = ({ headers }: { headers: Headers }) => headers.get('set-cookie')?.split(';')[0] ?? ''
  const first = cookieOf(await g.post('/sessions', body, { key: null }))
  const second = await g.post('/sessions', body, { key: null, headers: { cookie: first } })
  assert.equal(second.status, 201)
  const me = (cookie: string) => g.get('/me', { key: null, headers: { cookie } })
  assert.equal((await me(first)).body.code, 'invalid_session')
  await ok(me(cookieOf(second)))
  // a failed sign-in ends no session
  const failed = { key: null, body: { code: 'nonsense' }, headers: { cookie: cookieOf(second) } }
  assert.equal((await g.request('POST', '/sessions', failed)).status, 401)
  await ok(me(cookieOf(second)))
})

test('only the cookie of an admin downloads the zones of a group', async () => {
  await g.post('/groups', { name: 'Zones', group_id: 4711 })
  for (const [role, status] of Object.entries({ admin: 200, staff: 403 })) {
    const { key } = await g.createUser({ role })
    const { headers } = await g.post('/sessions', { api_key: key }, { key: null })
    const cookie = headers.get('set-cookie')?.split(';')[0] ?? ''
    assert.equal((await g.get('/geofences/4711/download', { key: null, headers: { cookie } })).status, status)
  }
})
