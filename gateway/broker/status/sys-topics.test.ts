import assert from 'node:assert/strict'
import { after, before, mock, test } from 'node:test'
import type { MqttClient } from 'mqtt'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

const PERIOD_MS = 10_000

let g: TestGateway

before(async () => {
  // the test triggers the gateway's periodic work
  mock.timers.enable({ apis: ['setInterval'] })
  g = await startGateway()
})
after(async () => {
  mock.timers.reset()
  await g.stop()
})

interface Received {
  payload: string
  isRetained: boolean
}

/** Returns received messages, keyed by topic; the last of each. */
function listen(client: MqttClient): Map<string, Received> {
  const received = new Map<string, Received>()
  client.on('message', (topic, payload, { retain }) => {
    received.set(topic, { payload: payload.toString(), isRetained: retain })
  })
  return received
}

/** Sends a message of its own through the broker: everything sent before has arrived when it returns. */
async function roundTrip(client: MqttClient): Promise<void> {
  await client.subscribeAsync('round/trip', { qos: 0 })
  const came = new Promise<void>((resolve) => {
    client.on('message', (topic) => topic === 'round/trip' && resolve())
  })
  await client.publishAsync('round/trip', 'x', { qos: 0 })
  await came
}

test('an admin who subscribes receives the current values immediately, and then every ten seconds', async () => {
  const sleeper = await g.program({ clientId: 'sleeper', clean: false })
  await sleeper.subscribeAsync('news', { qos: 1 })
  await sleeper.endAsync()
  const admin = await g.program()
  await admin.publishAsync('news', 'hello', { qos: 1, retain: true })
  const received = listen(admin)
  await admin.subscribeAsync('$SYS/broker/#')
  await roundTrip(admin)
  const valueNow = (name: string) => received.get(`$SYS/broker/${name}`)?.payload
  assert.deepEqual(
    {
      'clients/connected': valueNow('clients/connected'),
      'clients/disconnected': valueNow('clients/disconnected'),
      'clients/total': valueNow('clients/total'),
      'clients/maximum': valueNow('clients/maximum'),
      'messages/stored': valueNow('messages/stored'),
      'publish/messages/received': valueNow('publish/messages/received'),
      'publish/messages/dropped': valueNow('publish/messages/dropped'),
      'subscriptions/count': valueNow('subscriptions/count'),
      'retained messages/count': valueNow('retained messages/count'),
    },
    {
      'clients/connected': '1',
      'clients/disconnected': '1',
      'clients/total': '2',
      'clients/maximum': '1',
      'messages/stored': '1',
      'publish/messages/received': '1',
      'publish/messages/dropped': '0',
      'subscriptions/count': '2',
      'retained messages/count': '1',
    },
  )
  assert.match(valueNow('version') ?? '', /^cartbarn \d+\.\d+\.\d+$/)
  assert.match(valueNow('uptime') ?? '', /^\d+ seconds$/)
  // 'hello' and its topic are part of the received bytes
  assert.ok(Number(valueNow('bytes/received')) > Number(valueNow('publish/bytes/received')))
  assert.equal(valueNow('publish/bytes/received'), '5')
  assert.equal(valueNow('load/messages/received/15min'), '0.00')
  for (const [topic, { isRetained }] of received) assert.equal(isRetained, topic.startsWith('$SYS/'), topic)

  received.clear()
  mock.timers.tick(PERIOD_MS)
  await roundTrip(admin)
  assert.equal(received.size, 40)
  assert.equal(received.get('$SYS/broker/uptime')?.isRetained, false)
  assert.equal(valueNow('subscriptions/count'), '3')
  // the averages include some messages of the last ten seconds by now
  assert.ok(Number(valueNow('load/publish/received/1min')) > 0)
  await admin.endAsync()
})

test('a single topic can be subscribed to, and $SYS/# adds the topics of Aedes', async () => {
  const admin = await g.program()
  const received = listen(admin)
  await admin.subscribeAsync('$SYS/broker/clients/connected')
  await roundTrip(admin)
  assert.deepEqual([...received.keys()], ['$SYS/broker/clients/connected', 'round/trip'])
  received.clear()
  mock.timers.tick(PERIOD_MS)
  await roundTrip(admin)
  assert.deepEqual([...received.keys()], ['$SYS/broker/clients/connected', 'round/trip'])
  await admin.subscribeAsync('$SYS/#')
  const other = await g.program({ clientId: 'just-arrived' })
  await roundTrip(admin)
  const published = [...received].find(([topic]) => topic.endsWith('/new/clients'))
  assert.equal(published?.[1].payload, 'just-arrived')
  await Promise.all([admin.endAsync(), other.endAsync()])
})

test('wildcard subscriptions do not include $SYS, and only admins receive it', async () => {
  const admin = await g.program()
  const received = listen(admin)
  await admin.subscribeAsync(['#', '+/broker/version'])
  mock.timers.tick(PERIOD_MS)
  await roundTrip(admin)
  assert.deepEqual(
    [...received.keys()].filter((topic) => topic.startsWith('$')),
    [],
  )
  const password = await g.register('cart-1')
  const user = await g.createUser({ allowed_hardware_ids: ['cart-1'] })
  for (const client of [await g.connect('cart-1', password), await g.program({}, user)]) {
    const received = listen(client)
    for (const filter of ['$SYS/#', '$SYS/broker/version', '$SYS/+/+']) {
      await assert.rejects(client.subscribeAsync(filter), /Unspecified error|128/)
    }
    mock.timers.tick(PERIOD_MS)
    assert.equal(received.size, 0)
    await client.endAsync(true)
  }
  await admin.endAsync()
})

test('packets and bytes are counted as on the wire', async () => {
  const statsOf = async () => (await g.request('GET', '/mqtt/stats')).body
  const before = await statsOf()
  const admin = await g.program({ clientId: 'wire' })
  await admin.subscribeAsync('wire', { qos: 0 })
  await admin.publishAsync('wire', 'grün', { qos: 1 })
  await admin.publishAsync('wire', 'x', { qos: 2 })
  await roundTrip(admin)
  const now = await statsOf()
  const grown = (way: 'received' | 'sent', field: string) => now[way][field] - before[way][field]
  // CONNECT, 2 SUBSCRIBE, 3 PUBLISH, PUBREL; CONNACK, 2 SUBACK, PUBACK, PUBREC, PUBCOMP, 3 PUBLISH
  assert.deepEqual([grown('received', 'packets'), grown('sent', 'packets')], [7, 9])
  assert.deepEqual([grown('received', 'messages'), grown('sent', 'messages')], [3, 3])
  assert.deepEqual([grown('received', 'bytes'), grown('sent', 'bytes')], [7, 7])
  assert.deepEqual(
    ['qos_0', 'qos_1', 'qos_2'].map((qos) => now.received.by_qos[qos] - before.received.by_qos[qos]),
    [1, 1, 1],
  )
  const { received, sent } = (await g.request('GET', '/mqtt/clients?search=wire')).body.clients[0]
  assert.deepEqual([received.messages, received.bytes, sent.messages, sent.bytes], [3, 7, 3, 7])
  const { bytesRead, bytesWritten } = admin.stream as unknown as { bytesRead: number; bytesWritten: number }
  assert.deepEqual([grown('received', 'packet_bytes'), grown('sent', 'packet_bytes')], [bytesWritten, bytesRead])
  await admin.endAsync()
})
