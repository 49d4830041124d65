import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get } from 'node:http'
import { after, before, describe, test } from 'node:test'
import type { MqttClient } from 'mqtt'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { toIso } from '#shared/time.ts'
import { RealtimeClient } from '#testing/realtime-client.ts'
import { ADMIN_KEY, metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'

const clock = new FakeClock()
const NOW = clock.nowMs()
const MINUTE = 60_000
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

let gateway: TestGateway
let count = 0

before(async () => {
  // all are opened by one user
  gateway = await startGateway({ CARTBARN_USER_REALTIME_SOCKETS: '2000' }, { clock })
})
after(() => gateway.stop())

class Cart {
  readonly hardwareId: string
  readonly client: MqttClient

  private constructor(hardwareId: string, client: MqttClient) {
    this.hardwareId = hardwareId
    this.client = client
  }

  static async connect(): Promise<Cart> {
    const hardwareId = `cart-${++count}`
    return new Cart(hardwareId, await gateway.device(hardwareId))
  }

  async send(level: string, payload: unknown): Promise<void> {
    await this.client.publishAsync(`dev/${this.hardwareId}/${level}`, JSON.stringify(payload), { qos: 1 })
  }
}

async function watcherOf(...hardwareIds: string[]): Promise<RealtimeClient> {
  const watcher = await gateway.realtime()
  await watcher.subscribe(...hardwareIds)
  return watcher
}

describe('subscriptions', () => {
  test('the first message is connected, with a unique id', async () => {
    const [one, two] = [await gateway.realtime(), await gateway.realtime()]
    const [first, second] = [await one.next(), await two.next()]
    assert.equal(first.type, 'connected')
    assert.match(first.connectionId, UUID)
    assert.notEqual(first.connectionId, second.connectionId)
  })

  test('subscribe lists the watched and the denied devices, and echoes the id', async () => {
    const cart = await Cart.connect()
    const hidden = await Cart.connect()
    const { key } = await gateway.createUser({ allowed_hardware_ids: [cart.hardwareId, 'not-yet'] })
    const watcher = await gateway.realtime(key)
    const hardwareIds = [cart.hardwareId, hidden.hardwareId, 'not-yet', 'nowhere', 'constructor', cart.hardwareId]
    for (const id of ['1', 7]) {
      watcher.send({ type: 'subscribe', hardwareIds, id })
      assert.deepEqual(await watcher.next('subscribed'), {
        type: 'subscribed',
        hardwareIds: [cart.hardwareId],
        denied: [hidden.hardwareId, 'not-yet', 'nowhere', 'constructor'],
        id,
      })
    }
    watcher.send({ type: 'subscribe', hardwareIds: [] })
    assert.deepEqual(await watcher.next('subscribed'), { type: 'subscribed', hardwareIds: [], denied: [] })
    await hidden.send('tlm', { speed: 1 })
    assert.deepEqual(await watcher.flush(), [])
    await cart.send('tlm', { speed: 1 })
    assert.equal((await watcher.next()).hardwareId, cart.hardwareId)
  })

  test('subscribe adds to the set, and a device listed twice is reported once', async () => {
    const [one, two] = [await Cart.connect(), await Cart.connect()]
    const watcher = await watcherOf(one.hardwareId)
    await watcher.subscribe(two.hardwareId)
    await watcher.subscribe(two.hardwareId, '*')
    await one.send('tlm', { speed: 1 })
    await two.send('tlm', { speed: 2 })
    const shown = (await watcher.flush()).map(({ hardwareId }) => hardwareId)
    assert.deepEqual(shown, [one.hardwareId, two.hardwareId])
  })

  test('subscribe without a snapshot sends no current state', async () => {
    const cart = await Cart.connect()
    await cart.send('tlm', { speed: 1 })
    const watcher = await watcherOf(cart.hardwareId, '*')
    assert.deepEqual(await watcher.flush(), [])
  })

  test('* is everything in scope, now and later', async () => {
    const later = `later-${++count}`
    const { key } = await gateway.createUser({ allowed_hardware_ids: [later] })
    const all = await watcherOf('*')
    const scoped = await gateway.realtime(key)
    assert.deepEqual(await scoped.subscribe('*'), { type: 'subscribed', hardwareIds: ['*'], denied: [] })
    const other = await Cart.connect()
    const client = await gateway.device(later)
    await client.publishAsync(`dev/${later}/tlm`, '{"speed":1}', { qos: 1 })
    await other.send('tlm', { speed: 1 })
    const dataOf = async (watcher: RealtimeClient) =>
      (await watcher.flush()).filter(({ type }) => type === 'device_data').map(({ hardwareId }) => hardwareId)
    assert.deepEqual(await dataOf(all), [later, other.hardwareId])
    assert.deepEqual(await dataOf(scoped), [later])
  })

  test('unsubscribe ends a subscription, also of devices never watched; * ends all', async () => {
    const [one, two] = [await Cart.connect(), await Cart.connect()]
    const watcher = await watcherOf(one.hardwareId, two.hardwareId, '*')
    watcher.send({ type: 'unsubscribe', hardwareIds: ['*'], id: 'u' })
    assert.deepEqual(await watcher.next('unsubscribed'), { type: 'unsubscribed', hardwareIds: ['*'], id: 'u' })
    await one.send('tlm', { speed: 1 })
    await watcher.subscribe(one.hardwareId, two.hardwareId)
    watcher.send({ type: 'unsubscribe', hardwareIds: [one.hardwareId, 'nowhere'] })
    assert.deepEqual(await watcher.next('unsubscribed'), {
      type: 'unsubscribed',
      hardwareIds: [one.hardwareId, 'nowhere'],
    })
    await one.send('tlm', { speed: 2 })
    await two.send('tlm', { speed: 3 })
    const shown = (await watcher.flush()).map(({ hardwareId, payload }) => [hardwareId, payload])
    assert.deepEqual(shown, [[two.hardwareId, { speed: 3 }]])
  })

  test('the health report of an admin lists subscriptions until their client disconnects', async () => {
    const cart = await Cart.connect()
    const watchers = [await watcherOf(cart.hardwareId), await watcherOf(cart.hardwareId)]
    const watching = async () => {
      const { body } = await gateway.request('GET', '/health')
      return body.subscriptions.subscriptionsByDevice[cart.hardwareId] ?? 0
    }
    const others = (await watching()) - 2
    for (const watcher of watchers) watcher.socket.close()
    await eventually(async () => (await watching()) === others, 'both gone')
  })

  test('a device called __proto__ is in the report too', async () => {
    await gateway.register('__proto__')
    const watcher = await gateway.realtime()
    await watcher.subscribe('__proto__')
    const { body } = await gateway.request('GET', '/health')
    const { totalDevicesWatched, subscriptionsByDevice } = body.subscriptions
    const watched = Object.entries<number>(subscriptionsByDevice)
    assert.ok(watched.some(([id, watchers]) => id === '__proto__' && watchers > 0))
    assert.equal(totalDevicesWatched, watched.length)
    watcher.terminate()
  })

  test('a deleted device sends no further messages', async () => {
    const cart = await Cart.connect()
    const watcher = await watcherOf(cart.hardwareId)
    const closed = new Promise<void>((resolve) => cart.client.once('close', () => resolve()))
    await gateway.request('DELETE', `/devices/${cart.hardwareId}`)
    await closed
    assert.deepEqual((await watcher.subscribe(cart.hardwareId)).denied, [cart.hardwareId])
  })
})

describe('device messages', () => {
  test('device_data has what the update contained and changed, and its times', async () => {
    const cart = await Cart.connect()
    const watcher = await watcherOf(cart.hardwareId)
    await cart.send('tlm', { ts: NOW - 1_000, lat: 47, long: 19, speed: 5, lock_status: 1, temp: 20 })
    assert.deepEqual(await watcher.next(), {
      type: 'device_data',
      hardwareId: cart.hardwareId,
      payload: { lat: 47, long: 19, speed: 5, lock_status: 1, temp: 20 },
      timestamp: toIso(NOW - 1_000),
      updated_at: toIso(NOW),
      last_responded_at: toIso(NOW),
    })
    await cart.send('tlm', { ts: NOW, battery_voltage: 40 })
    assert.deepEqual((await watcher.next()).payload, { battery_voltage: 40 })
    // newer for the temperature only
    await cart.send('tlm', { ts: NOW - 500, battery_voltage: 39, temp: 21 })
    assert.deepEqual((await watcher.next()).payload, { temp: 21 })
    assert.equal((await gateway.request('GET', `/devices/${cart.hardwareId}`)).body.updated_at, toIso(NOW))
  })

  test('a sample without a usable or new value is not sent', async () => {
    const cart = await Cart.connect()
    await cart.send('tlm', { ts: NOW, speed: 5 })
    const watcher = await watcherOf(cart.hardwareId)
    await cart.send('tlm', { ts: NOW, speed: 5 })
    await cart.send('tlm', {})
    await cart.send('tlm', { speed: -1 })
    await cart.send('ack', { cfg: 1 })
    await cart.send('st', { online: true })
    assert.deepEqual(await watcher.flush(), [])
  })

  test('a batch of recent samples is sent one by one, in event time', async () => {
    const cart = await Cart.connect()
    const watcher = await watcherOf(cart.hardwareId)
    await cart.send('tlm', [
      { ts: NOW - 1_000, speed: 3 },
      { ts: NOW - 3_000, speed: 1 },
      { ts: NOW - 2_000, speed: 2 },
    ])
    const shown = (await watcher.flush()).map(({ type, payload }) => [type, payload.speed])
    assert.deepEqual(shown, [
      ['device_data', 1],
      ['device_data', 2],
      ['device_data', 3],
    ])
  })

  test('the order of a device is the order of its messages', async () => {
    const cart = await Cart.connect()
    const watcher = await watcherOf(cart.hardwareId)
    const speeds = Array.from({ length: 150 }, (_, i) => i)
    await Promise.all(speeds.map((speed) => cart.send('tlm', { ts: NOW - 1_000 + speed, speed })))
    const shown = (await watcher.flush()).map(({ payload }) => payload.speed)
    assert.deepEqual(shown, speeds)
  })

  test('device_status is sent at connection and end', async () => {
    const hardwareId = `cart-${++count}`
    const password = await gateway.register(hardwareId)
    const watcher = await watcherOf(hardwareId)
    const client = await gateway.connect(hardwareId, password)
    const status = { type: 'device_status', hardwareId, timestamp: toIso(NOW) }
    assert.deepEqual(await watcher.next(), { ...status, payload: { is_online: true } })
    await client.endAsync()
    assert.deepEqual(await watcher.next(), { ...status, payload: { is_online: false } })
  })

  test('device_locked and device_unlocked are sent once per event, with the code if there is one', async () => {
    const cart = await Cart.connect()
    const watcher = await watcherOf(cart.hardwareId)
    const unlock = { eid: '1', event: 'unlock', source: 'rfid', code: '04A1', ts: NOW - 1_000 }
    await cart.send('evt', unlock)
    const { eventId, ...others } = await watcher.next()
    assert.deepEqual(others, {
      type: 'device_unlocked',
      hardwareId: cart.hardwareId,
      source: 'rfid',
      code: '04A1',
      timestamp: toIso(NOW - 1_000),
    })
    const { body } = await gateway.request('GET', `/lock-events?hardware_id=${cart.hardwareId}`)
    assert.equal(body.events[0].event_id, eventId)
    await cart.send('evt', [unlock, { eid: '2', event: 'lock', source: 'key', code: 'x', ts: NOW }])
    const [locked, ...more] = await watcher.flush()
    assert.deepEqual(more, [])
    assert.equal(locked.type, 'device_locked')
    assert.equal('code' in locked, false)
  })
})

describe('device_backfill', () => {
  const old = (n: number) => ({ ts: NOW - 60 * MINUTE + n * MINUTE, battery_voltage: 40 + n })

  test('an upload of old samples is one message, and a repeated upload sends no message', async () => {
    const cart = await Cart.connect()
    await cart.send('tlm', { ts: NOW, battery_voltage: 50 })
    const watcher = await watcherOf(cart.hardwareId)
    const upload = [old(3), old(1), old(2)]
    await cart.send('tlm', upload)
    assert.deepEqual(await watcher.flush(), [
      {
        type: 'device_backfill',
        hardwareId: cart.hardwareId,
        from: toIso(NOW - 59 * MINUTE),
        to: toIso(NOW - 57 * MINUTE),
        count: 3,
      },
    ])
    await cart.send('tlm', upload)
    assert.deepEqual(await watcher.flush(), [])
    await cart.send('tlm', [...upload, old(4)])
    const shown = (await watcher.flush()).map(({ type, count: samples }) => [type, samples])
    assert.deepEqual(shown, [['device_backfill', 1]])
  })

  test('the first samples ever, if older than five minutes, are a backfill; they set the state', async () => {
    const cart = await Cart.connect()
    const watcher = await watcherOf(cart.hardwareId)
    await cart.send('tlm', [old(1), old(2)])
    const shown = (await watcher.flush()).map(({ type, count: samples }) => [type, samples])
    assert.deepEqual(shown, [['device_backfill', 2]])
    const { body } = await gateway.request('GET', `/devices/${cart.hardwareId}`)
    assert.equal(body.attributes.battery_voltage, 42)
  })

  test('the first sample ever is device_data if it is at most five minutes old', async () => {
    for (const [ageMs, type] of [
      [5 * MINUTE, 'device_data'],
      [5 * MINUTE + 1, 'device_backfill'],
    ] as const) {
      const cart = await Cart.connect()
      const watcher = await watcherOf(cart.hardwareId)
      await cart.send('tlm', { ts: NOW - ageMs, battery_voltage: 40 })
      const types = (await watcher.flush()).map((message) => message.type)
      assert.deepEqual(types, [type])
    }
  })

  test('an old upload that still changes the state ends in one device_data with the final state', async () => {
    const cart = await Cart.connect()
    await cart.send('tlm', { ts: NOW - 120 * MINUTE, battery_voltage: 50 })
    const watcher = await watcherOf(cart.hardwareId)
    await cart.send('tlm', [old(1), old(2), old(3)])
    const messages = await watcher.flush()
    assert.deepEqual(messages.map(({ type }) => type).toSorted(), ['device_backfill', 'device_data'])
    const data = messages.find(({ type }) => type === 'device_data')
    assert.deepEqual([data.payload, data.timestamp], [{ battery_voltage: 43 }, toIso(NOW - 57 * MINUTE)])
    assert.equal(messages.find(({ type }) => type === 'device_backfill').count, 2)
  })
})

describe('bad messages', () => {
  const bad: [text: string, answer: Record<string, unknown>][] = [
    ['nonsense', { code: 'invalid_json' }],
    ['', { code: 'invalid_json' }],
    ['{"type":', { code: 'invalid_json' }],
    ['{"type":"dance","id":"9"}', { code: 'invalid_message', id: '9' }],
    [`{"type":"command","params":${'['.repeat(20_000)}${']'.repeat(20_000)}}`, { code: 'invalid_message' }],
    ['{}', { code: 'invalid_message' }],
    ['[]', { code: 'invalid_message' }],
    ['null', { code: 'invalid_message' }],
    ['5', { code: 'invalid_message' }],
    ['{"type":"__proto__"}', { code: 'invalid_message' }],
    [
      '{"type":"subscribe","hardwareIds":"A","id":"1"}',
      { code: 'invalid_message', message: 'hardwareIds must be an array', id: '1' },
    ],
    ['{"type":"subscribe","id":4}', { code: 'invalid_message', message: 'hardwareIds must be an array', id: 4 }],
    ['{"type":"subscribe","hardwareIds":[1]}', { code: 'invalid_message' }],
    ['{"type":"unsubscribe","hardwareIds":{}}', { code: 'invalid_message', message: 'hardwareIds must be an array' }],
    ['{"type":"ping","id":{}}', { code: 'invalid_message' }],
  ]
  for (const [text, answer] of bad) {
    test(`${JSON.stringify(text)} gets an error, and the channel stays open`, async () => {
      const watcher = await gateway.realtime()
      watcher.send(text)
      const error = await watcher.next('error')
      assert.deepEqual({ ...error, ...answer }, error)
      assert.equal('id' in error, 'id' in answer)
      assert.equal(typeof error.message, 'string')
      assert.deepEqual(await watcher.flush(), [])
    })
  }

  test('a ping gets a pong, with its id', async () => {
    const watcher = await gateway.realtime()
    watcher.send({ type: 'ping' })
    assert.deepEqual(await watcher.next('pong'), { type: 'pong', time: toIso(NOW) })
    watcher.send({ type: 'ping', id: 3 })
    assert.deepEqual(await watcher.next('pong'), { type: 'pong', time: toIso(NOW), id: 3 })
  })

  test('a binary message closes the channel with 1003', async () => {
    const watcher = await gateway.realtime()
    watcher.socket.send(Buffer.from('{"type":"ping"}'))
    assert.equal(await watcher.closed(), 1003)
  })

  test('64 KiB are read; more closes the channel with 1009', async () => {
    const watcher = await gateway.realtime()
    watcher.send('{"type":"ping"}'.padEnd(65_536))
    await watcher.next('pong')
    watcher.send('{"type":"ping"}'.padEnd(65_537))
    assert.equal(await watcher.closed(), 1009)
  })

  test('too many messages close the channel with 1008, which is counted once', async () => {
    const before = await metric(gateway, 'cartbarn_realtime_closed_total', 'too_many_messages')
    const watcher = await gateway.realtime()
    for (let i = 0; i < 2_000; i++) watcher.send({ type: 'ping' })
    assert.equal(await watcher.closed(), 1008)
    assert.equal(await metric(gateway, 'cartbarn_realtime_closed_total', 'too_many_messages'), before + 1)
  })
})

test('messages published before an unsubscribe arrive before its response, and none after it', async () => {
  const cart = await Cart.connect()
  const watcher = await watcherOf(cart.hardwareId)
  for (let speed = 1; speed <= 20; speed++) {
    await cart.send('tlm', { ts: NOW - 1_000 + speed, speed })
    watcher.send({ type: 'unsubscribe', hardwareIds: [cart.hardwareId] })
    watcher.send({ type: 'subscribe', hardwareIds: [cart.hardwareId] })
    const [data, ...answers] = [await watcher.next(), await watcher.next(), await watcher.next()]
    assert.deepEqual([data.payload, ...answers.map(({ type }) => type)], [{ speed }, 'unsubscribed', 'subscribed'])
  }
})

test('a client that does not read is closed with 1013 and delays no other', async () => {
  const cart = await Cart.connect()
  const [slow, fast] = [await watcherOf(cart.hardwareId), await watcherOf(cart.hardwareId)]
  slow.socket.pause()
  const closedBefore = await metric(gateway, 'cartbarn_realtime_closed_total', 'too_slow')
  const filler = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`a${i}`, 'x'.repeat(256)]))
  let speed = 0
  while ((await metric(gateway, 'cartbarn_realtime_closed_total', 'too_slow')) === closedBefore) {
    assert.ok(speed < 5_000, 'the slow reader is cut before 40 MB')
    const batch = Array.from({ length: 7 }, () => ({ ts: NOW - 200_000 + ++speed, speed: speed / 100, ...filler }))
    await cart.send('tlm', batch)
    for (const { ts } of batch) {
      const { timestamp } = await fast.next('device_data')
      assert.equal(timestamp, toIso(ts))
    }
  }
  slow.socket.resume()
  assert.equal(await slow.closed(), 1013)
  await cart.send('tlm', { ts: NOW, speed: 1 })
  assert.deepEqual((await fast.next('device_data')).payload, { speed: 1 })
})

describe('keys', () => {
  /** Returns the response to a refused upgrade request. */
  async function refusal(path: string, headers: Record<string, string> = {}) {
    const request = get(`${gateway.http}${path}`, {
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        ...headers,
      },
    })
    const [response] = await once(request, 'response')
    let text = ''
    for await (const chunk of response) text += chunk
    return { status: response.statusCode, headers: response.headers, body: JSON.parse(text) }
  }

  test('a missing or invalid key is 401 on the upgrade, with a problem as its body', async () => {
    for (const [path, headers, code] of [
      ['/realtime', {}, 'missing_api_key'],
      ['/realtime?api_key=', {}, 'missing_api_key'],
      ['/realtime?api_key=flt_wrong', {}, 'invalid_api_key'],
      ['/realtime', { 'x-api-key': 'flt_wrong' }, 'invalid_api_key'],
    ] as const) {
      const answer = await refusal(path, headers)
      assert.equal(answer.status, 401)
      assert.equal(answer.headers['content-type'], 'application/problem+json')
      assert.match(String(answer.headers['www-authenticate']), /ApiKey/)
      assert.equal(answer.headers['x-request-id'], answer.body.request_id)
      assert.deepEqual([answer.body.status, answer.body.code], [401, code])
    }
  })

  test('a disabled user is 401 user_inactive', async () => {
    const { userId, key } = await gateway.createUser({})
    await gateway.request('PATCH', `/users/${userId}`, { body: { is_active: false } })
    assert.equal((await refusal(`/realtime?api_key=${key}`)).body.code, 'user_inactive')
  })

  test('another path is 404, with a key or without', async () => {
    for (const path of ['/', '/realtimes', '/realtime/x', `/devices?api_key=${ADMIN_KEY}`, '/%00'])
      assert.deepEqual([path, (await refusal(path)).status], [path, 404])
  })

  test('an upgrade that is not a WebSocket handshake is rejected', async () => {
    const request = get(`${gateway.http}/realtime?api_key=${ADMIN_KEY}`, {
      headers: { connection: 'Upgrade', upgrade: 'websocket' },
    })
    const [response] = await once(request, 'response')
    assert.equal(response.statusCode, 400)
    response.resume()
  })

  test('the key may be in the header, and a trailing slash is tolerated', async () => {
    const url = `${gateway.http.replace('http', 'ws')}/realtime/`
    const client = await RealtimeClient.open(url, { 'x-api-key': ADMIN_KEY })
    assert.equal((await client.next()).type, 'connected')
    client.terminate()
  })

  test('an upgrade counts as one request, and later messages do not count', async () => {
    const { userId, key } = await gateway.createUser({})
    const watcher = await gateway.realtime(key)
    await watcher.flush()
    await watcher.subscribe('x')
    assert.equal((await gateway.request('GET', `/users/${userId}`)).body.usage.total_requests, 1)
  })

  for (const [what, revoke] of [
    ['rotated', (id: string) => gateway.request('POST', `/users/${id}/rotate-key`)],
    ['disabled', (id: string) => gateway.request('PATCH', `/users/${id}`, { body: { is_active: false } })],
    ['deleted', (id: string) => gateway.request('DELETE', `/users/${id}`)],
  ] as const) {
    test(`a key that is ${what} closes its channels with 4401, and no other`, async () => {
      const { userId, key } = await gateway.createUser({})
      const [one, two, other] = [await gateway.realtime(key), await gateway.realtime(key), await gateway.realtime()]
      const codes = Promise.all([one.closed(), two.closed()])
      assert.equal((await revoke(userId)).status, 200)
      assert.deepEqual(await codes, [4401, 4401])
      const types = (await other.flush()).map(({ type }) => type)
      assert.deepEqual(types, ['connected'])
      assert.equal((await refusal(`/realtime?api_key=${key}`)).status, 401)
    })
  }

  test('a narrowed scope ends the subscriptions outside it, without further messages', async () => {
    const [kept, lost] = [await Cart.connect(), await Cart.connect()]
    const both = [kept.hardwareId, lost.hardwareId]
    const { userId, key } = await gateway.createUser({ allowed_hardware_ids: both })
    const [named, all] = [await gateway.realtime(key), await gateway.realtime(key)]
    await named.subscribe(...both)
    await all.subscribe('*')
    await gateway.request('PATCH', `/users/${userId}`, { body: { allowed_hardware_ids: [kept.hardwareId] } })
    assert.deepEqual(await named.next('unsubscribed'), {
      type: 'unsubscribed',
      hardwareIds: [lost.hardwareId],
      reason: 'scope',
    })
    await lost.send('tlm', { speed: 1 })
    await kept.send('tlm', { speed: 1 })
    for (const watcher of [named, all]) {
      const shown = (await watcher.flush()).map(({ hardwareId }) => hardwareId)
      assert.deepEqual(shown, [kept.hardwareId])
    }
    assert.deepEqual((await named.subscribe(lost.hardwareId)).denied, [lost.hardwareId])
    // a wider scope opens them again
    await gateway.request('PATCH', `/users/${userId}`, { body: { allowed_hardware_ids: both } })
    assert.deepEqual((await named.subscribe(lost.hardwareId)).denied, [])
  })

  test('an admin who becomes a user keeps only subscriptions in scope', async () => {
    const cart = await Cart.connect()
    const { userId, key } = await gateway.createUser({ role: 'admin' })
    const [named, all] = [await gateway.realtime(key), await gateway.realtime(key)]
    await named.subscribe(cart.hardwareId)
    await all.subscribe('*')
    await gateway.request('PATCH', `/users/${userId}`, { body: { role: 'user' } })
    assert.equal((await named.next('unsubscribed')).reason, 'scope')
    await cart.send('tlm', { speed: 1 })
    assert.deepEqual(await named.flush(), [])
    assert.deepEqual(await all.flush(), [])
  })

  test('a change of name closes no channel', async () => {
    const cart = await Cart.connect()
    const { userId, key } = await gateway.createUser({ allowed_hardware_ids: [cart.hardwareId] })
    const watcher = await gateway.realtime(key)
    await watcher.subscribe(cart.hardwareId)
    await gateway.request('PATCH', `/users/${userId}`, { body: { name: 'Other' } })
    assert.deepEqual(await watcher.flush(), [])
    await cart.send('tlm', { speed: 1 })
    assert.equal((await watcher.next()).type, 'device_data')
  })
})

test('a shutdown closes with 1001, without reporting all devices as offline', async () => {
  const own = await startGateway()
  await own.device('cart-of-a-shutdown')
  const watcher = await RealtimeClient.open(`${own.http.replace('http', 'ws')}/realtime?api_key=${ADMIN_KEY}`)
  await watcher.subscribe('*')
  const received: string[] = []
  watcher.socket.on('message', (data) => received.push(String(data)))
  const closed = watcher.closed()
  const stopped = own.stop()
  assert.equal(await closed, 1001)
  await stopped
  // the cart may have been evaluated in the meantime
  const unexpected = received.filter((message) => /"type":"device_status"|"is_online":false/.test(message))
  assert.deepEqual(unexpected, [])
})
