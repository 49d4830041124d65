import assert from 'node:assert/strict'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { createKeyPair, KeyPairFolder } from '#shared/testing/key-pairs.ts'
import { PACKET, publishPacket, subscribePacket } from '#testing/mqtt-packets.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { fails, ok, publish, scene } from '#testing/scene.ts'
import { ADMIN_KEY, metric, startFor, startGateway } from '#testing/start-gateway.ts'

const folder = new KeyPairFolder(createKeyPair())
const opened: RawMqtt[] = []
after(() => {
  for (const client of opened) client.destroy()
})
const { g, clock, onlyFor } = scene({
  settings: { ...folder.settings, CARTBARN_MQTTS_PORT: '0' },
  inScope: ['cart-1'],
  isStill: true,
})
let adminId: string
before(async () => {
  adminId = await g.adminId()
})
after(() => folder.remove())

async function open(transport: Transport): Promise<RawMqtt> {
  const url = { tcp: g.mqtt, tls: g.mqtts, websocket: `${g.http.replace('http', 'ws')}/mqtt` }[transport]
  const client = await RawMqtt.open(url, g.trust)
  opened.push(client)
  return client
}

type Transport = 'tcp' | 'tls' | 'websocket'
type ProgramOptions = { transport?: Transport; clean?: boolean; level?: number; keepaliveS?: number }

/** Connects as a program of the admin. */
async function program(clientId: string, { transport = 'tcp', ...fields }: ProgramOptions = {}): Promise<RawMqtt> {
  const client = await open(transport)
  assert.equal(await client.login({ clientId, username: adminId, password: ADMIN_KEY, ...fields }), 0)
  return client
}

async function subscribed(client: RawMqtt, filters: Record<string, number>): Promise<void> {
  client.send(subscribePacket(filters))
  await client.next(PACKET.suback)
}

// tests look into answers of every shape
// biome-ignore lint/suspicious/noExplicitAny: see above
const clientsAt = async (query: string): Promise<any[]> => (await ok(g.get(`/mqtt/clients${query}`))).clients
const idsAt = async (query: string): Promise<string[]> => (await clientsAt(query)).map(({ client_id }) => client_id)

async function isAway(clientId: string): Promise<boolean> {
  const [client] = await clientsAt(`?search=${clientId}`)
  return client?.connected === false
}

onlyFor('admins', ['GET', '/mqtt/clients'], ['GET', '/mqtt/stats'], ['GET', '/mqtt/addresses'])
onlyFor('admins', ['DELETE', '/mqtt/clients/unknown'])

for (const [query, name, code] of [
  ['?limit=0', 'limit', 'invalid_number'],
  ['?limit=1001', 'limit', 'invalid_number'],
  ['?limit=x', 'limit', 'invalid_number'],
  ['?offset=-1', 'offset', 'invalid_number'],
  ['?connected=yes', 'connected', 'invalid_parameter'],
  ['?connected=', 'connected', 'invalid_parameter'],
] as const)
  test(`GET /mqtt/clients${query} is 400 ${code}`, async () => {
    const { status, body } = await g.get(`/mqtt/clients${query}`)
    assert.equal(status, 400)
    assert.deepEqual([body.errors[0].in, body.errors[0].name, body.errors[0].code], ['query', name, code])
  })

test('a connected device and an offline program are listed with all details and no secret', async () => {
  const password = await g.register('cart-1')
  const device = await open('tls')
  const login = { clientId: 'cart-1', username: 'cart-1', password, clean: false, keepaliveS: 30 }
  assert.equal(await device.login(login), 0)
  await subscribed(device, { 'dev/cart-1/cmd': 1 })
  device.send(publishPacket('dev/cart-1/tlm', '{"speed":1}'))
  await device.next(PACKET.puback)
  const sleeper = await program('sleeper', { clean: false })
  await subscribed(sleeper, { 'news/+': 2 })
  sleeper.destroy()
  await eventually(() => isAway('sleeper'), 'away')
  const speaker = await program('speaker', { transport: 'websocket', level: 3, keepaliveS: 0 })
  speaker.send(publishPacket('news/today', 'hello'))
  await speaker.next(PACKET.puback)

  const body = await ok(g.get('/mqtt/clients'))
  const text = JSON.stringify(body)
  for (const secret of [password, ADMIN_KEY]) assert.ok(!text.includes(secret))
  assert.deepEqual(body.pagination, { limit: 100, offset: 0, returned: 3 })
  const connectedSince = new Date(clock.nowMs()).toISOString()
  const none = { messages: 0, bytes: 0, per_second: 0 }
  const empty = { messages: 0, bytes: 0, in_flight: 0, dropped: 0 }
  const usual = { unread_bytes: 0, skipped: 0, throttled: 0, taken_over: null, idle_hours: null }
  const connected = {
    ...usual,
    address: '127.0.0.1',
    connected: true,
    connected_since: connectedSince,
    sent: none,
    queue: empty,
  }
  const ofAdmin = { kind: 'program', user_id: adminId, hardware_id: null }
  const away = { address: null, transport: null, protocol_version: null, connected: false, connected_since: null }
  const [first, second, third] = body.clients
  assert.deepEqual(body.clients, [
    {
      ...connected,
      client_id: 'cart-1',
      kind: 'device',
      user_id: null,
      hardware_id: 'cart-1',
      transport: 'tls',
      protocol_version: 4,
      clean_session: false,
      keepalive_s: 30,
      subscriptions: [{ topic_filter: 'dev/cart-1/cmd', qos: 1 }],
      subscription_count: 1,
      received: { messages: 1, bytes: 11, per_second: first.received.per_second },
      taken_over: 0,
    },
    {
      ...usual,
      ...ofAdmin,
      ...away,
      client_id: 'sleeper',
      clean_session: false,
      keepalive_s: null,
      subscriptions: [{ topic_filter: 'news/+', qos: 2 }],
      subscription_count: 1,
      received: null,
      sent: null,
      queue: { messages: 1, bytes: second.queue.bytes, in_flight: 0, dropped: 0 },
      idle_hours: 0,
    },
    {
      ...connected,
      ...ofAdmin,
      client_id: 'speaker',
      transport: 'websocket',
      protocol_version: 3,
      clean_session: true,
      keepalive_s: 600,
      subscriptions: [],
      subscription_count: 0,
      received: { messages: 1, bytes: 5, per_second: third.received.per_second },
    },
  ])
  assert.ok(body.clients[0].received.per_second > 0)
  assert.ok(body.clients[1].queue.bytes > 'hello'.length)

  const { body: stats } = await g.get('/mqtt/stats')
  assert.match(stats.version, /^cartbarn \d/)
  assert.deepEqual(stats.connections.by_transport, { tcp: 0, tls: 1, websocket: 1 })
  assert.deepEqual([stats.connections.open, stats.connections.logged_in, stats.connections.limit], [2, 2, 10_000])
  assert.deepEqual(stats.sessions, { kept: 2, away: 1 })
  assert.equal(stats.subscriptions, 2)
  assert.deepEqual(stats.queued.limits, { messages: 100_000, bytes: 67_108_864 })
  assert.deepEqual(stats.queued.messages, 1)
  assert.deepEqual(stats.received.by_qos, { qos_0: 0, qos_1: 2, qos_2: 0 })
  assert.equal(stats.write_queue_rows, 0)

  // same figures for Prometheus
  const { body: metrics } = await g.get('/metrics')
  for (const line of [
    'cartbarn_mqtt_connections{transport="tcp"} 0',
    'cartbarn_mqtt_connections{transport="tls"} 1',
    'cartbarn_mqtt_connections{transport="websocket"} 1',
    'cartbarn_mqtt_clients 2',
    'cartbarn_mqtt_sessions 2',
    'cartbarn_mqtt_sessions_away 1',
    'cartbarn_mqtt_subscriptions 2',
    'cartbarn_mqtt_queued_messages 1',
    'cartbarn_mqtt_received_messages_total{qos="1"} 2',
    '# TYPE cartbarn_mqtt_received_messages_total counter',
    'cartbarn_mqtt_dropped_total{reason="queue_full"} 0',
  ])
    assert.ok(metrics.includes(`${line}\n`), line)
  assert.ok(!metrics.includes('cart-1') && !metrics.includes('sleeper'))
  const received = await metric(g, 'cartbarn_mqtt_received_packets_total')
  speaker.send(Buffer.from([0xc0, 0]))
  await speaker.next(PACKET.pingresp)
  assert.equal(await metric(g, 'cartbarn_mqtt_received_packets_total'), received + 1)
  for (const client of [device, speaker]) client.destroy()
  await eventually(async () => (await idsAt('?connected=true')).length === 0, 'gone')
})

test('a list is sorted by client id, in pages, filtered by connection, and searchable', async () => {
  for (const clientId of ['page-b', 'page-a', 'PAGE-c']) await program(clientId)
  const sleeper = await program('page-away', { clean: false })
  sleeper.destroy()
  await eventually(() => isAway('page-away'), 'away')
  assert.deepEqual(await idsAt('?search=page-'), ['PAGE-c', 'page-a', 'page-away', 'page-b'])
  assert.deepEqual(await idsAt('?search=page-&limit=2&offset=1'), ['page-a', 'page-away'])
  assert.deepEqual(await idsAt('?search=page-&offset=4'), [])
  assert.deepEqual(await idsAt('?search=page-&connected=false'), ['page-away'])
  assert.deepEqual(await idsAt('?search=page-&connected=true'), ['PAGE-c', 'page-a', 'page-b'])
  assert.deepEqual(await idsAt('?search=%25'), [])
})

test('a subscriber that does not read shows its unread and skipped messages', async () => {
  const deaf = await program('deaf')
  await subscribed(deaf, { 'deaf/0': 0, 'deaf/1': 1 })
  deaf.stream.pause()
  const speaker = await program('loud')
  const payload = 'x'.repeat(60_000)
  await eventually(async () => {
    for (const topic of ['deaf/0', 'deaf/1']) {
      speaker.send(publishPacket(topic, payload))
      await speaker.next(PACKET.puback)
    }
    const [client] = await clientsAt('?search=deaf')
    const { unread_bytes, skipped, queue, sent } = client
    return unread_bytes > 60_000 && skipped > 0 && queue.in_flight > 0 && queue.dropped > 0 && sent.messages > 0
  }, 'seen')
})

test('a client that sends too much shows how often it was throttled', async (t) => {
  const own = await startFor(t, { CARTBARN_MQTT_MESSAGES_PER_SECOND: '10' })

  const eager = await own.program({ clientId: 'eager' })
  await Promise.all(Array.from({ length: 60 }, () => publish(eager, 'a', 'x')))
  await publish(eager, 'a', 'x')
  const { body } = await own.get('/mqtt/clients?search=eager')
  const { throttled } = body.clients[0]
  assert.ok(throttled > 0)
  assert.equal(await metric(own, 'cartbarn_mqtt_refused_total', 'throttled'), throttled)
})

const AWKWARD = ['plain', 'a/b', 'a b', 'ä€😀', '100%', '%2F', '?x=1&y#z', '+/#', '__proto__', 'x'.repeat(256)]

for (const clientId of AWKWARD)
  test(`DELETE closes and forgets ${JSON.stringify(clientId.slice(0, 20))}, connected or offline`, async () => {
    const path = `/mqtt/clients/${encodeURIComponent(clientId)}`
    const stays = await program('stays')
    const client = await program(clientId, { clean: false })
    await subscribed(client, { 'news/+': 1 })
    assert.deepEqual(await ok(g.remove(path)), { success: true, closed: true, session_discarded: true })
    await client.closed()

    const again = await open('tcp')
    again.send(Buffer.alloc(0))
    assert.equal(await again.login({ clientId, username: adminId, password: ADMIN_KEY, clean: false }), 0)
    again.destroy()
    await eventually(async () => (await clientsAt('?connected=false')).some((c) => c.client_id === clientId), 'away')
    assert.deepEqual(await ok(g.remove(path)), { success: true, closed: false, session_discarded: true })

    await program(clientId)
    assert.deepEqual((await g.remove(path)).body, { success: true, closed: true, session_discarded: false })
    await fails(g.remove(path), 404, 'client_not_found')
    assert.ok((await stays.flush()).length === 0)
    stays.destroy()
  })

test('a removed session stays removed after a restart, and messages queued for others are kept', async (t) => {
  const own = await startFor(t)

  for (const clientId of ['removed', 'kept']) {
    const client = await own.program({ clientId, clean: false })
    await client.subscribeAsync('news', { qos: 1 })
    await client.endAsync()
  }
  const speaker = await own.program()
  await publish(speaker, 'news', 'hello')
  await ok(own.remove('/mqtt/clients/removed'))
  await own.restart()
  const { body } = await own.get('/mqtt/clients')
  assert.deepEqual(
    body.clients.map((client: { client_id: string; queue: { messages: number } }) => [
      client.client_id,
      client.queue.messages,
    ]),
    [['kept', 1]],
  )
})

test('while the store cannot be written nothing is removed: 503', async () => {
  const own = await startGateway()
  const database = join(own.config.dataDir, 'cartbarn.db')
  try {
    await own.program({ clientId: 'stays', clean: false })
    renameSync(database, `${database}.away`)
    // the next write detects it
    const isRefused = async () => (await own.post('/users', { name: 'X' })).status === 503
    await eventually(isRefused, 'found out')
    const { status, headers, body } = await own.remove('/mqtt/clients/stays')
    assert.deepEqual([status, body.code], [503, 'store_unavailable'])
    assert.ok(Number(headers.get('retry-after')) > 0)
    const { body: list } = await own.get('/mqtt/clients')
    assert.deepEqual([list.clients[0].client_id, list.clients[0].connected], ['stays', true])
  } finally {
    renameSync(`${database}.away`, database)
    await own.stop()
  }
})

for (const [method, path, allow] of [
  ['POST', '/mqtt/clients', 'GET, HEAD'],
  ['GET', '/mqtt/clients/x', 'DELETE'],
  ['DELETE', '/mqtt/stats', 'GET, HEAD'],
] as const)
  test(`${method} ${path} is 405, Allow: ${allow}`, async () => {
    const { status, headers } = await g.request(method, path)
    assert.deepEqual([status, headers.get('allow')], [405, allow])
  })

test('DELETE /mqtt/clients/{client_id} removes the named one of two users with the same client_id', async () => {
  const other = await g.createUser({})
  for (const { userId, key } of [{ userId: adminId, key: ADMIN_KEY }, other]) {
    const client = await open('tcp')
    assert.equal(await client.login({ clientId: 'twice', username: userId, password: key, clean: false }), 0)
  }
  const ownersOf = async () => (await clientsAt('?search=twice')).map(({ user_id }) => user_id).sort()
  assert.deepEqual(await ownersOf(), [adminId, other.userId].sort())
  const path = '/mqtt/clients/twice'
  assert.equal((await g.remove(`${path}?user_id=nobody`)).body.code, 'client_not_found')
  await ok(g.remove(`${path}?user_id=${other.userId}`))
  assert.deepEqual(await ownersOf(), [adminId])
  assert.deepEqual((await g.remove(path)).body, { success: true, closed: true, session_discarded: true })
  assert.deepEqual(await ownersOf(), [])
})
