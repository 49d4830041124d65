import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import { fails, ok, publish, scene } from '#testing/scene.ts'
import { type Browser, metric, startFor } from '#testing/start-gateway.ts'

/** Samples of all PINs, including the correct one. Set CARTBARN_TEST_LONG=1 for all of them. */
const PINS = Array.from({ length: 10_000 }, (_, i) => String(i).padStart(4, '0')).filter(
  (pin) => process.env.CARTBARN_TEST_LONG !== undefined || pin.endsWith('6'),
)
const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000'
const { g, clock, keys, onlyFor } = scene({
  nowMs: Date.UTC(2026, 4, 1, 12),
  devices: ['cart-1', 'cart-2', 'cart-3'],
  inScope: ['cart-1'],
})
let shopId: string

before(async () => {
  shopId = (await g.createUser({ name: 'Shop', role: 'staff', allowed_hardware_ids: ['*'] })).userId
})

async function newPerson(pin: string | null, fields: object = {}): Promise<{ userId: string; key: string }> {
  const user = await g.createUser({ name: 'Jane', role: 'staff', allowed_hardware_ids: ['*'], ...fields })
  if (pin !== null) await setPin(user.userId, pin)
  return user
}

/** Signs a person in on a tablet of the shop. */
async function acting() {
  const browser = await g.pair(shopId)
  const { userId } = await newPerson('1234')
  await browser.act(userId, '1234')
  return { browser, userId }
}

async function setPin(userId: string, pin: string | null): Promise<void> {
  assert.deepEqual(await ok(g.put(`/users/${userId}/pin`, { pin })), { success: true })
}

for (const path of ['/me', '/people']) onlyFor('any key', ['GET', path])

describe('GET /me', () => {
  test('with a key returns the user and its access', async () => {
    const { userId, key } = await g.createUser({ name: 'Me', allowed_hardware_ids: ['cart-2', 'cart-1'] })
    const { status, body } = await g.get('/me', { key })
    const { user, started_at, version, ...rest } = body
    assert.equal(status, 200)
    assert.deepEqual([user.user_id, user.allowed_hardware_ids], [userId, ['cart-2', 'cart-1']])
    assert.deepEqual(rest, {
      role: 'user',
      scope: ['cart-1', 'cart-2'],
      mqtt: { username: userId },
      session: null,
      server_time: new Date(clock.nowMs()).toISOString(),
      site: { name: '', time_zone: 'UTC', units: 'metric', language: 'en' },
    })
    assert.ok(Date.parse(started_at) <= clock.nowMs())
    assert.match(version, /^\d+\.\d+\.\d+/)
  })

  for (const [role, allowed, scope] of [
    ['user', null, []],
    ['user', ['*'], 'all'],
    ['staff', ['cart-1'], ['cart-1']],
    ['staff', null, []],
    ['admin', null, 'all'],
  ] as const)
    test(`${role} with ${JSON.stringify(allowed)} sees ${JSON.stringify(scope)}`, async () => {
      const { key } = await g.createUser({ role, allowed_hardware_ids: allowed })
      const { body } = await g.get('/me', { key })
      assert.deepEqual([body.role, body.scope], [role, scope])
    })

  test('returns the start time of the gateway, whatever its clock is set to since', async (t) => {
    const ownClock = new FakeClock()
    const own = await startFor(t, {}, { clock: ownClock })
    ownClock.advance(HOUR_MS)
    const before = (await own.get('/me')).body
    assert.equal(Date.parse(before.server_time) - Date.parse(before.started_at), HOUR_MS)
    ownClock.set(ownClock.nowMs() + HOUR_MS)
    const after = (await own.get('/me')).body
    assert.equal(Date.parse(after.server_time) - Date.parse(after.started_at), HOUR_MS)
  })
})

describe('a PIN', () => {
  for (const pin of ['123', '1234567', '12a4', ' 1234', '١٢٣٤', '', 1234, undefined])
    test(`${JSON.stringify(pin)} is 400`, async () =>
      assert.equal((await g.put(`/users/${shopId}/pin`, { pin })).status, 400))

  test('of another user, or of an unknown one, may be set by admins only', async () => {
    const { userId } = await newPerson(null)
    for (const who of ['in scope', 'no scope'] as const)
      for (const id of [userId, UNKNOWN_ID])
        await fails(g.put(`/users/${id}/pin`, { pin: '1234' }, { key: keys[who] }), 403, 'admin_required')
    await fails(g.put(`/users/${UNKNOWN_ID}/pin`, { pin: '1234' }), 404, 'user_not_found')
  })

  test('may be set by every user for themselves, which adds them to the list of people', async () => {
    const { userId, key } = await newPerson(null, { name: 'Ärmel' })
    const people = async () => (await g.get('/people', { key })).body
    assert.ok(!(await people()).some((one: { user_id: string }) => one.user_id === userId))
    await ok(g.put(`/users/${userId}/pin`, { pin: '123456' }, { key }))
    assert.equal((await g.get(`/users/${userId}`)).body.has_pin, true)
    const found = (await people()).find((one: { user_id: string }) => one.user_id === userId)
    assert.deepEqual(found, { user_id: userId, name: 'Ärmel', role: 'staff' })
    await setPin(userId, null)
    assert.ok(!(await people()).some((one: { user_id: string }) => one.user_id === userId))
  })

  test('lists its user by name among the people if the user is active', async (t) => {
    const own = await startFor(t)
    for (const name of ['Zoe', '<b>Bob</b>', '👩‍🌾', 'x'.repeat(200), 'שרה', 'Ann']) {
      const { userId } = await own.createUser({ name })
      await own.put(`/users/${userId}/pin`, { pin: '0000' })
      if (name === 'Ann') await own.patch(`/users/${userId}`, { is_active: false })
    }
    const { body } = await own.get('/people')
    const names = body.map(({ name }: { name: string }) => name)
    assert.equal(names.length, 5)
    assert.deepEqual(
      names,
      names.toSorted((a: string, b: string) => a.localeCompare(b)),
    )
    assert.ok(names.includes('<b>Bob</b>') && !names.includes('Ann'))
  })

  test('of the admin cannot be set on his tablet once his admin rights have ended', async () => {
    const adminId = (await g.createUser({ role: 'admin' })).userId
    const browser = await g.pair(adminId)
    const body = { pin: '4711' }
    await ok(browser.put(`/users/${adminId}/pin`, body))
    clock.advance(10 * MINUTE_MS)
    await fails(browser.put(`/users/${adminId}/pin`, { pin: '0000' }), 403, 'admin_required')
    assert.equal((await browser.act(adminId, '4711')).body.role, 'admin')
    await ok(browser.put(`/users/${adminId}/pin`, body))
  })
})

describe('the PIN of an admin', () => {
  for (const [where, tabletRole, waits] of [
    ['on a tablet of staff', 'staff', false],
    ['on a tablet of a user', 'user', false],
    ["on another admin's tablet, once the rights are over", 'admin', true],
  ] as const)
    test(`${where} can be set with the old one only`, async () => {
      const { userId } = await newPerson('4711', { role: 'admin' })
      const tablet = await g.createUser({ role: tabletRole, allowed_hardware_ids: ['*'] })
      const browser = await g.pair(tablet.userId)
      await browser.act(userId, '4711')
      if (waits)
        for (let minute = 0; minute < 11; minute++) {
          clock.advance(MINUTE_MS)
          await browser.patch('/devices/cart-1', {})
        }
      const set = (body: object) => browser.put(`/users/${userId}/pin`, body)
      await fails(set({ pin: '0000' }), 403, 'admin_required')
      await fails(set({ pin: null }), 403, 'admin_required')
      await fails(set({ pin: '0000', old_pin: '1111' }), 403, 'wrong_pin')
      await ok(set({ pin: '0000', old_pin: '4711' }))
      assert.equal((await browser.act(userId, '4711')).body.code, 'wrong_pin')
      await ok(browser.act(userId, '0000'))
    })

  test('can be set without the old one where the admin has admin rights', async () => {
    const { userId, key } = await newPerson('4711', { role: 'admin' })
    const tablet = await g.createUser({ role: 'admin' })
    const browser = await g.pair(tablet.userId)
    await browser.act(userId, '4711')
    const path = `/users/${userId}/pin`
    await ok(browser.put(path, { pin: '0000' }))
    await ok(g.put(path, { pin: '1111' }, { key }))
  })
})

describe('a PIN user on a tablet', () => {
  for (const [tablet, person, role, scope] of [
    [{ role: 'staff', allowed_hardware_ids: ['*'] }, { role: 'staff', allowed_hardware_ids: ['*'] }, 'staff', 'all'],
    [{ role: 'staff', allowed_hardware_ids: ['*'] }, { role: 'admin' }, 'staff', 'all'],
    [{ role: 'user', allowed_hardware_ids: ['cart-1'] }, { role: 'admin' }, 'user', ['cart-1']],
    [{ role: 'admin' }, { role: 'user', allowed_hardware_ids: ['cart-2'] }, 'user', ['cart-2']],
    [
      { role: 'staff', allowed_hardware_ids: ['cart-1', 'cart-2'] },
      { role: 'staff', allowed_hardware_ids: ['cart-2', 'cart-3'] },
      'staff',
      ['cart-2'],
    ],
    [{ role: 'staff', allowed_hardware_ids: ['*'] }, { role: 'staff', allowed_hardware_ids: null }, 'staff', []],
  ] as const) {
    const name = `${JSON.stringify(tablet)} and ${JSON.stringify(person)}`
    test(`has the lower role and the devices that both see: ${name}`, async () => {
      const browser = await g.pair((await g.createUser(tablet)).userId)
      const { userId } = await newPerson('1234', person)
      const body = await ok(browser.act(userId, '1234'))
      assert.deepEqual([body.role, body.scope], [role, scope])
      assert.equal(body.user.role, tablet.role)
      assert.deepEqual(body.session.person, {
        user_id: userId,
        name: 'Jane',
        role: person.role,
        until: new Date(clock.nowMs() + 10 * MINUTE_MS).toISOString(),
      })
      const seen = (await browser.get('/devices')).body.devices
      assert.equal(seen.length, scope === 'all' ? 3 : scope.length)
    })
  }

  test('is recorded in commands and audit entries, together with the tablet', async () => {
    const browser = await g.pair(shopId, 'Counter')
    const { userId } = await newPerson('1234', { name: 'Ann' })
    await browser.act(userId, '1234')
    const sent = await browser.post('/devices/cart-1/commands', { command: 'locate' })
    assert.deepEqual([sent.status, sent.body.requested_by], [202, userId])
    const { body } = await g.get('/audit-log?action=command.created&limit=1')
    const [{ user_id, person, session_id }] = body.entries
    assert.deepEqual([user_id, person, session_id], [shopId, { user_id: userId, name: 'Ann' }, browser.sessionId])
    await browser.remove('/sessions/current/person')
    await browser.post('/devices/cart-1/commands', { command: 'locate' })
    const [entry] = (await g.get('/audit-log?action=command.created&limit=1')).body.entries
    assert.deepEqual([entry.user_id, entry.person, entry.session_id], [shopId, null, browser.sessionId])
  })

  test('is signed out by DELETE, which returns the new state', async () => {
    const { browser } = await acting()
    assert.deepEqual((await ok(browser.remove('/sessions/current/person'))).session.person, null)
    await ok(browser.remove('/sessions/current/person'))
  })

  test('is signed out after ten minutes without a change; reading does not count', async () => {
    const { browser, userId } = await acting()
    clock.advance(9 * MINUTE_MS)
    await ok(browser.patch('/devices/cart-1', { name: 'x' }))
    clock.advance(9 * MINUTE_MS)
    assert.equal((await browser.me()).session.person.user_id, userId)
    clock.advance(MINUTE_MS)
    assert.equal((await browser.me()).session.person, null)
  })

  test('is not signed in again by a change made after the ten minutes', async () => {
    const { browser, userId } = await acting()
    clock.advance(11 * MINUTE_MS)
    await ok(browser.patch('/carts/cart-1', { note: 'x' }))
    assert.equal((await browser.me()).session.person, null)
    await browser.act(userId, '1234')
  })

  test('is signed out when the clock is set ahead, and gains no time when it is set back', async () => {
    const [one, other] = [await g.pair(shopId), await g.pair(shopId)]
    const { userId } = await newPerson('1234')
    await one.act(userId, '1234')
    const nowMs = clock.nowMs()
    clock.set(nowMs + 11 * MINUTE_MS)
    assert.equal((await one.me()).session.person, null)
    await other.act(userId, '1234')
    clock.advance(9 * MINUTE_MS)
    clock.set(clock.nowMs() - 4 * MINUTE_MS)
    assert.equal((await other.me()).session.person.user_id, userId)
    clock.advance(MINUTE_MS)
    const me = await other.me()
    assert.deepEqual([me.session.person, me.role], [null, 'staff'])
  })

  for (const [what, end] of [
    ['another PIN', (userId: string) => setPin(userId, '9999')],
    ['no PIN any more', (userId: string) => setPin(userId, null)],
    ['been disabled', (userId: string) => g.patch(`/users/${userId}`, { is_active: false })],
    ['been deleted', (userId: string) => g.remove(`/users/${userId}`)],
  ] as const)
    test(`is signed out on three tablets together when it has ${what}`, async () => {
      const tablets = await Promise.all([1, 2, 3].map(() => g.pair(shopId)))
      const { userId } = await newPerson('1234', { allowed_hardware_ids: ['cart-1'] })
      for (const tablet of tablets) await ok(tablet.act(userId, '1234'))
      const sockets = await Promise.all(tablets.map((tablet) => tablet.realtime()))
      for (const socket of sockets) assert.deepEqual((await socket.subscribe('cart-2')).denied, ['cart-2'])
      await end(userId)
      for (const [i, tablet] of tablets.entries()) {
        const me = await tablet.me()
        assert.deepEqual([me.session.person, me.scope], [null, 'all'])
        // the socket stays open, for the tablet
        const { hardwareIds } = (await sockets[i]?.subscribe('cart-2')) ?? {}
        assert.deepEqual(hardwareIds, ['cart-2'])
        await fails(tablet.act(userId, '1234'), 403, 'wrong_pin')
      }
    })

  test('loses subscriptions out of its scope, and so does its tablet', async () => {
    const tablet = await g.pair((await g.createUser({ allowed_hardware_ids: ['cart-1', 'cart-2'] })).userId)
    const { userId } = await newPerson('1234', { allowed_hardware_ids: ['cart-2'] })
    const socket = await tablet.realtime()
    await socket.subscribe('cart-1', 'cart-2')
    await tablet.act(userId, '1234')
    const { hardwareIds, reason } = await socket.next('unsubscribed')
    assert.deepEqual([hardwareIds, reason], [['cart-1'], 'scope'])
  })

  test('sees masked codes if the user or the tablet is masked', async () => {
    const masked = await g.createUser({ allowed_hardware_ids: ['cart-1'], mask_codes: true })
    const plain = await newPerson('1234', { role: 'user', allowed_hardware_ids: ['cart-1'] })
    const maskedPerson = await newPerson('1234', { role: 'user', allowed_hardware_ids: ['cart-1'], mask_codes: true })
    const maskedStaff = await newPerson('1234', { role: 'staff', mask_codes: true, allowed_hardware_ids: ['*'] })
    const device = await g.device('cart-codes')
    await publish(device, 'dev/cart-codes/evt', {
      eid: 'e1',
      event: 'unlock',
      source: 'rfid',
      code: '04A1B2C3',
      ts: clock.nowMs(),
    })
    for (const user of [masked, plain, maskedPerson])
      await g.patch(`/users/${user.userId}`, { allowed_hardware_ids: ['cart-codes'] })
    const codeSeen = async (browser: Browser) =>
      (await browser.get('/lock-events?hardware_id=cart-codes')).body.events[0]?.code
    const [maskedTablet, shop] = [await g.pair(masked.userId), await g.pair(shopId)]
    assert.equal(await codeSeen(maskedTablet), '******C3')
    await maskedTablet.act(plain.userId, '1234')
    assert.equal(await codeSeen(maskedTablet), '******C3')
    assert.equal(await codeSeen(shop), '04A1B2C3')
    for (const [person, code] of [
      [maskedPerson, '******C3'],
      [plain, '04A1B2C3'],
      [maskedStaff, '04A1B2C3'],
    ] as const) {
      await shop.act(person.userId, '1234')
      assert.equal(await codeSeen(shop), code)
    }
  })

  test("with the admin role gives an admin's tablet admin rights for ten minutes, however busy", async () => {
    const { userId } = await newPerson('1234', { role: 'admin' })
    const tablet = await g.pair(userId)
    clock.advance(10 * MINUTE_MS)
    assert.equal((await tablet.act(userId, '1234')).body.role, 'admin')
    clock.advance(6 * MINUTE_MS)
    await ok(tablet.post('/groups', { name: 'G' }), 201)
    clock.advance(4 * MINUTE_MS)
    const me = await tablet.me()
    assert.deepEqual([me.role, me.session.person.user_id], ['staff', userId])
    await fails(tablet.post('/groups', { name: 'G' }), 403, 'admin_required')
  })

  test('with the admin role loses these rights on open sockets too', async () => {
    const admin = await newPerson('1234', { role: 'admin', allowed_hardware_ids: null })
    const guest = await g.pair(admin.userId)
    const socket = await guest.realtime()
    const person = await newPerson('1234', { role: 'user', allowed_hardware_ids: ['cart-1'] })
    assert.deepEqual((await socket.subscribe('cart-1', 'cart-2')).denied, [])
    await guest.act(person.userId, '1234')
    assert.deepEqual((await socket.next('unsubscribed')).hardwareIds, ['cart-2'])
    clock.advance(10 * MINUTE_MS)
    // no request is sent: the gateway ends it on its own timer
    await eventually(async () => (await metric(g, 'cartbarn_persons_acting')) === 0, 'nobody acts')
    assert.deepEqual((await socket.subscribe('cart-2')).denied, [])
  })

  test("with the staff role gives an admin's tablet no admin rights, even after sign-out", async () => {
    const tablet = await g.pair((await newPerson(null, { role: 'admin' })).userId)
    clock.advance(10 * MINUTE_MS)
    const { userId } = await newPerson('1234')
    assert.equal((await tablet.act(userId, '1234')).body.role, 'staff')
    assert.equal((await tablet.remove('/sessions/current/person')).body.role, 'staff')
  })
})

describe('wrong PINs', () => {
  test('for an unknown user, a disabled one and one without a PIN are 403 wrong_pin', async () => {
    const tablet = await g.pair(shopId)
    const [none, disabled] = [await newPerson(null), await newPerson('1234')]
    await g.patch(`/users/${disabled.userId}`, { is_active: false })
    for (const userId of [UNKNOWN_ID, none.userId, disabled.userId])
      await fails(tablet.act(userId, '1234'), 403, 'wrong_pin')
  })

  test('lock a PIN user on one tablet for five minutes after five, even for the right PIN', async () => {
    const [tablet, other] = [await g.pair(shopId), await g.pair(shopId)]
    const { userId } = await newPerson('1234')
    for (let i = 0; i < 5; i++) await fails(tablet.act(userId, '0000'), 403, 'wrong_pin')
    const locked = await tablet.act(userId, '1234')
    assert.deepEqual([locked.status, locked.body.code], [429, 'pin_locked'])
    assert.equal(locked.headers.get('retry-after'), '300')
    await ok(other.act(userId, '1234'))
    // setting the clock unlocks nothing
    clock.set(clock.nowMs() + HOUR_MS)
    await fails(tablet.act(userId, '1234'), 429, 'pin_locked')
    clock.advance(5 * MINUTE_MS)
    await ok(tablet.act(userId, '1234'))
  })

  test('are cleared by a right one on the tablet', async () => {
    const [tablet, { userId }] = [await g.pair(shopId), await newPerson('1234')]
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 4; i++) assert.equal((await tablet.act(userId, '0000')).status, 403)
      await ok(tablet.act(userId, '1234'))
    }
  })

  test(`lock the user for an hour after twenty of ${PINS.length} guesses over 100 sessions`, async () => {
    const { userId } = await newPerson('9876')
    const { userId: owner, key } = await g.createUser({ name: 'Thief', allowed_hardware_ids: ['*'] })
    const tablets = await Promise.all(Array.from({ length: 100 }, () => g.signIn({ api_key: key })))
    const before = await metric(g, 'cartbarn_pin_tries_total', 'wrong')
    const answers = await Promise.all(PINS.map((pin, i) => tablets[i % 100]?.act(userId, pin)))
    const codes = new Set(answers.map((answer) => answer?.body.code))
    assert.ok(!answers.some((answer) => answer?.status === 200))
    assert.deepEqual([...codes].sort(), ['pin_locked', 'rate_limited', 'wrong_pin'])
    assert.equal((await metric(g, 'cartbarn_pin_tries_total', 'wrong')) - before, 20)
    await fails((await g.pair(shopId)).act(userId, '9876'), 429, 'pin_locked')
    assert.equal((await g.get('/audit-log?action=pin.locked&limit=1')).body.entries[0].target, userId)
    await ok(g.get(`/users/${owner}`))
    clock.advance(HOUR_MS)
    await ok((await g.pair(shopId)).act(userId, '9876'))
  })

  test('before a restart count after it, by the running time of the gateway', async (t) => {
    const ownClock = new FakeClock()
    const own = await startFor(t, {}, { clock: ownClock })
    const { userId } = await own.createUser({ name: 'Jane', role: 'staff', allowed_hardware_ids: ['*'] })
    await own.put(`/users/${userId}/pin`, { pin: '1234' })
    const tabletId = (await own.createUser({ name: 'Shop', role: 'staff', allowed_hardware_ids: ['*'] })).userId
    const guess = async (count: number) => {
      const tablet = await own.pair(tabletId)
      for (let i = 0; i < count; i++) assert.equal((await tablet.act(userId, '0000')).status, 403)
      return tablet
    }
    const restart = (offMs: number) => own.restart(() => ownClock.set(ownClock.nowMs() + offMs))
    await guess(4)
    ownClock.advance(HOUR_MS)
    // attempts older than an hour no longer count
    for (let power = 0; power < 4; power++) {
      await guess(5)
      await restart(HOUR_MS)
    }
    const locked = await (await own.pair(tabletId)).act(userId, '1234')
    assert.deepEqual([locked.status, locked.body.code], [429, 'pin_locked'])
    assert.equal(locked.headers.get('retry-after'), '3600')
    // the time of a lock that has passed before a restart counts, and its alert lasts as long
    ownClock.advance(HOUR_MS / 2)
    await restart(HOUR_MS)
    const rest = await (await own.pair(tabletId)).act(userId, '1234')
    assert.deepEqual([rest.status, rest.headers.get('retry-after')], [429, '1800'])
    const openAlerts = async () => (await own.get('/alerts?kind=pin_locked&state=open')).body.alerts.length
    await eventually(async () => (await openAlerts()) === 1, 'the alert')
    ownClock.advance(HOUR_MS / 4)
    assert.equal(await openAlerts(), 1)
    ownClock.advance(HOUR_MS / 4)
    await eventually(async () => (await openAlerts()) === 0, 'the end of the alert')
    await ok((await own.pair(tabletId)).act(userId, '1234'))
    await own.remove(`/users/${userId}`)
    await own.restart()
  })

  test('hold up no other work', async () => {
    const people = await Promise.all(Array.from({ length: 20 }, () => newPerson('1234')))
    const tablet = await g.pair(shopId)
    let pending = 0
    const tries = people.map(({ userId }) => {
      pending++
      return tablet.act(userId, '0000').finally(() => pending--)
    })
    await eventually(async () => {
      await ok(g.get('/devices'))
      return true
    }, 'an answer')
    assert.ok(pending > 0, 'the PINs are still being compared')
    await Promise.all(tries)
  })
})
