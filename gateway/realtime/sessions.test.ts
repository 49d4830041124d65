import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, request } from 'node:http'
import { after, before, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { CommandedDevice } from '#testing/course/commanded-device.ts'
import { HeldJobs } from '#testing/held-jobs.ts'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'

let g: TestGateway
let shopId: string

before(async () => {
  g = await startGateway()
  await g.register('cart-1')
  shopId = (await g.createUser({ name: 'Shop', role: 'staff', allowed_hardware_ids: ['*'] })).userId
})
after(() => g.stop())

test('a socket opens with the cookie only if the Origin is that of the gateway', async () => {
  const { cookie } = await g.pair(shopId)
  const port = new URL(g.http).port
  for (const origin of ['http://127.0.0.1:1', 'http://localhost', 'null', `https://127.0.0.1:${port}`])
    await assert.rejects(g.realtimeWith({ cookie, origin }), /403/, origin)
  await assert.rejects(g.realtimeWith({ cookie }), /403/)
  const socket = await g.realtimeWith({ cookie, origin: g.http })
  assert.equal((await socket.next()).type, 'connected')
  assert.deepEqual((await socket.subscribe('*')).hardwareIds, ['*'])
  const withKey = await g.realtimeWith({ cookie, 'x-api-key': ADMIN_KEY, origin: 'http://evil.example' })
  assert.equal((await withKey.next()).type, 'connected')
})

test('a socket of an ended session is closed with 4401, once the Origin is accepted', async () => {
  const cookie = 'cartbarn_session=over'
  const socket = await g.realtimeWith({ cookie, origin: g.http })
  assert.equal(await socket.closed(), 4401)
  await assert.rejects(g.realtimeWith({ cookie, origin: 'http://evil.example' }), /403/)
})

for (const [what, end] of [
  ['it is ended', (id: string) => g.request('DELETE', `/sessions/${id}`)],
  ['its user gets another key', (_: string, userId: string) => g.request('POST', `/users/${userId}/rotate-key`)],
  ['its user is deleted', (_: string, userId: string) => g.request('DELETE', `/users/${userId}`)],
] as const) {
  test(`all sockets of a session close with 4401 when ${what}`, async () => {
    const { userId } = await g.createUser({ allowed_hardware_ids: ['*'] })
    const browser = await g.pair(userId)
    const sockets = await Promise.all([1, 2, 3].map(() => browser.realtime()))
    const closed = Promise.all(sockets.map((socket) => socket.closed()))
    assert.equal((await end(browser.sessionId, userId)).status, 200)
    assert.deepEqual(await closed, [4401, 4401, 4401])
  })
}

test('signing out closes the sockets of this session only', async () => {
  const [one, other] = [await g.pair(shopId), await g.pair(shopId)]
  const [socket, stays] = [await one.realtime(), await other.realtime()]
  const closed = socket.closed()
  await one.request('DELETE', '/sessions/current')
  assert.equal(await closed, 4401)
  assert.deepEqual((await stays.subscribe('cart-1')).hardwareIds, ['cart-1'])
})

test('a session has four sockets, and the fifth closes the oldest', async () => {
  const { userId, key } = await g.createUser({ allowed_hardware_ids: ['*'] })
  const browser = await g.pair(userId)
  const first = await browser.realtime()
  const closed = first.closed()
  const others = []
  for (let i = 0; i < 4; i++) others.push(await browser.realtime())
  assert.equal(await closed, 1013)
  for (const socket of others) assert.deepEqual((await socket.subscribe('cart-1')).hardwareIds, ['cart-1'])
  // sockets of sessions do not count towards the twenty of the key
  for (let i = 0; i < 20; i++) assert.equal((await (await g.realtime(key)).next()).type, 'connected')
  assert.equal(await (await g.realtime(key)).closed(), 1013)
  assert.equal((await (await (await g.pair(userId)).realtime()).next()).type, 'connected')
})

test('forty tablets of one user are all live after a restart', async () => {
  const tablets = await Promise.all(Array.from({ length: 40 }, () => g.pair(shopId)))
  await g.restart()
  const sockets = await Promise.all(tablets.map((tablet) => tablet.realtime()))
  await Promise.all(sockets.map((socket) => socket.subscribe('*')))
})

test('each session has a separate request budget', async (t) => {
  const own = await startGateway({ CARTBARN_REQUESTS_PER_SECOND: '5' })
  t.after(() => own.stop())
  const { userId, key } = await own.createUser({})
  const [one, other] = [await own.pair(userId), await own.pair(userId)]
  const answers = await Promise.all(Array.from({ length: 40 }, () => one.request('GET', '/devices')))
  assert.ok(answers.some(({ status }) => status === 429))
  assert.equal((await other.request('GET', '/devices')).status, 200)
  assert.equal((await own.request('GET', '/devices', { key })).status, 200)
})

test('a command concurrent with the end of its session is executed, or rejected and not recorded', async () => {
  const password = await g.register('cart-busy')
  await CommandedDevice.connect(g, 'cart-busy', password)
  let refused = 0
  for (let round = 0; round < 10; round++) {
    const browser = await g.pair(shopId)
    const before = (await g.request('GET', '/devices/cart-busy/commands?limit=1000')).body.commands.length
    const sent = Promise.all(
      Array.from({ length: 10 }, () =>
        browser.request('POST', '/devices/cart-busy/commands', { body: { command: 'locate' } }),
      ),
    )
    const [answers] = await Promise.all([sent, g.request('DELETE', `/sessions/${browser.sessionId}`)])
    const done = answers.filter(({ status }) => status === 202).length
    for (const { status, body } of answers)
      if (status !== 202) assert.deepEqual([status, body.code], [401, 'invalid_session'])
    refused += answers.length - done
    const after = (await g.request('GET', '/devices/cart-busy/commands?limit=1000')).body.commands.length
    assert.equal(after - before, done)
  }
  assert.ok(refused > 0, 'some were under way')
})

test('a command whose body arrives after the session ended is rejected', async () => {
  const browser = await g.pair(shopId)
  const body = JSON.stringify({ command: 'locate' })
  const used = async () => (await g.request('GET', `/users/${shopId}`)).body.usage.total_requests
  const before = await used()
  const { cookie } = browser
  const headers = { cookie, origin: g.http, 'content-type': 'application/json', 'content-length': body.length }
  const sent = request(`${g.http}/devices/cart-1/commands`, { method: 'POST', headers })
  const answered = once(sent, 'response')
  sent.write(body.slice(0, 5))
  await eventually(async () => (await used()) > before, 'the request is let in')
  await g.request('DELETE', `/sessions/${browser.sessionId}`)
  sent.end(body.slice(5))
  const [answer] = await answered
  answer.resume()
  assert.equal(answer.statusCode, 401)
})

test('a download is aborted immediately when its session ends, even if its client reads nothing', async (t) => {
  const device = await g.device('cart-long')
  // more than a page
  const samples = Array.from({ length: 500 }, (_, i) => ({
    ts: Date.now() - i * 1000,
    lat: 28.4,
    long: -81.5,
    speed: i % 20,
  }))
  await device.publishAsync('dev/cart-long/tlm', JSON.stringify(samples), { qos: 1 })
  const browser = await g.pair(shopId)
  const path = '/devices/cart-long/gps?from=2020-01-01&to=2099-01-01'
  // the gateway cannot reclaim what the sockets buffer, so the end must not be there
  const jobs = new HeldJobs()
  t.after(() => jobs.end())
  jobs.hold()
  const asked = get(`${g.http}${path}`, { headers: { cookie: browser.cookie } })
  await eventually(() => jobs.given.length === 1, 'the first page')
  jobs.pass()
  const [answer] = await once(asked, 'response')
  assert.equal(answer.statusCode, 200)
  await eventually(() => jobs.given.length === 2, 'the second page')
  const over = once(answer, 'error')
  await g.request('DELETE', `/sessions/${browser.sessionId}`)
  answer.resume()
  await Promise.race([over, once(answer, 'aborted')])
})
