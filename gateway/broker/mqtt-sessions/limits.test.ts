import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { PACKET, publishPacket, readPublish, subscribePacket } from '#testing/mqtt-packets.ts'
import { OpenBroker } from '#testing/open-broker.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'

/** `ownerOf` returns the owner of a client id. */
async function start(
  t: TestContext,
  ownerOf: (clientId: string) => string = () => 'anybody',
  queuedBytes = 1_000_000,
): Promise<OpenBroker> {
  const side = await OpenBroker.start({
    port: {
      login: (clientId) => ({ ok: true, login: {}, owner: ownerOf(clientId), isClientIdUnique: true }),
    },
    options: {
      sessions: {
        outbox: { inFlight: 100, messages: 10, bytes: 20_000 },
        queued: { messages: 24, bytes: queuedBytes },
        retained: { messages: 5, bytes: 1000 },
        expiryDays: 1,
      },
    },
  })
  t.after(() => side.stop())
  return side
}

async function connect(side: OpenBroker, clientId: string, clean = false): Promise<RawMqtt> {
  const client = await RawMqtt.open(side.url)
  assert.equal(await client.login({ clientId, clean }), 0)
  return client
}

async function leave(side: OpenBroker, client: RawMqtt): Promise<void> {
  const connected = side.connectedClients
  client.destroy()
  await eventually(() => side.connectedClients < connected, 'gone')
}

async function sleeper(side: OpenBroker, clientId: string): Promise<void> {
  const client = await connect(side, clientId)
  client.send(subscribePacket({ [`${clientId}/#`]: 1, all: 1 }))
  await client.next(PACKET.suback)
  await leave(side, client)
}

async function publish(side: OpenBroker, topic: string, payloads: string[], isRetained = false): Promise<void> {
  const writer = await connect(side, 'writer', true)
  for (const [i, payload] of payloads.entries()) {
    writer.send(publishPacket(topic, payload, { id: i + 1, isRetained }))
    await writer.next(PACKET.puback)
  }
  await leave(side, writer)
}

async function waiting(side: OpenBroker, clientId: string): Promise<string[]> {
  const client = await connect(side, clientId)
  const payloads = (await client.flush()).map((packet) => readPublish(packet).payload)
  await leave(side, client)
  return payloads
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `${from + i}`)

describe('what waits', () => {
  test('for one client is bounded in number: the oldest makes room and is counted', async (t) => {
    const side = await start(t)
    await sleeper(side, 'a')
    await publish(side, 'a/x', numbers(0, 14))
    assert.equal(side.broker.sessions.dropped.get('queue_full'), 4)
    assert.deepEqual(await waiting(side, 'a'), numbers(4, 14))
  })

  test('for one client is bounded in size', async (t) => {
    const side = await start(t)
    await sleeper(side, 'a')
    await publish(side, 'a/x', ['old', 'x'.repeat(10_000), 'y'.repeat(9_500)])
    const lengths = (await waiting(side, 'a')).map(({ length }) => length)
    assert.deepEqual(lengths, [10_000, 9_500])
    assert.equal(side.broker.sessions.dropped.get('queue_full'), 1)
  })

  test('for all together is bounded: the oldest of the owner that has most makes room', async (t) => {
    const side = await start(t, (clientId) => clientId.charAt(0))
    for (const clientId of ['a', 'b1', 'b2', 'b3']) await sleeper(side, clientId)
    for (const clientId of ['a', 'b1', 'b2', 'b3']) await publish(side, `${clientId}/x`, numbers(0, 8))
    assert.equal(side.broker.sessions.queued.messages, 24)
    assert.equal(side.broker.sessions.dropped.get('queues_full'), 8)
    // it was first, and has less than the other client
    assert.deepEqual(await waiting(side, 'a'), numbers(0, 8))
    const kept = await Promise.all(['b1', 'b2', 'b3'].map((clientId) => waiting(side, clientId)))
    assert.equal(kept.flat().length, 16)
    for (const payloads of kept) assert.deepEqual(payloads, numbers(8 - payloads.length, 8))
  })

  test('for all together is bounded in size in the same way', async (t) => {
    const side = await start(t, (clientId) => clientId.charAt(0), 40_000)
    for (const clientId of ['a', 'b1', 'b2', 'b3']) await sleeper(side, clientId)
    await publish(side, 'a/x', ['x'.repeat(9_000)])
    for (const clientId of ['b1', 'b2', 'b3'])
      await publish(side, `${clientId}/x`, ['x'.repeat(9_000), 'y'.repeat(9_000)])
    assert.deepEqual(await waiting(side, 'a'), ['x'.repeat(9_000)])
    assert.equal(side.broker.sessions.dropped.get('queues_full'), 3)
  })

  test('is counted once for every session it waits for', async (t) => {
    const side = await start(t)
    for (const clientId of ['a', 'b']) await sleeper(side, clientId)
    await publish(side, 'all', ['x'])
    assert.equal(side.broker.sessions.queued.messages, 2)
  })
})

describe('a session', () => {
  test('is forgotten after the days it may be away, and not before', async (t) => {
    const side = await start(t)
    const { sessions } = side.broker
    await sleeper(side, 'a')
    await publish(side, 'a/x', ['1'])
    for (let hour = 0; hour < 23; hour++) sessions.ageSessions()
    assert.deepEqual(await waiting(side, 'a'), ['1'])
    // that was a connection, so its time starts again
    for (let hour = 0; hour < 23; hour++) sessions.ageSessions()
    assert.ok(sessions.get('a') !== undefined)
    sessions.ageSessions()
    assert.equal(sessions.get('a'), undefined)
    assert.equal(sessions.dropped.get('session_expired'), 1)
    assert.deepEqual(await waiting(side, 'a'), [])
  })

  test('is never forgotten while its client is connected', async (t) => {
    const side = await start(t)
    const client = await connect(side, 'a')
    client.send(subscribePacket({ 'a/#': 1 }))
    await client.next(PACKET.suback)
    for (let hour = 0; hour < 100; hour++) side.broker.sessions.ageSessions()
    await publish(side, 'a/x', ['1'])
    assert.equal(readPublish(await client.next(PACKET.publish)).payload, '1')
  })

  test('ages over restarts', async (t) => {
    const side = await start(t)
    await sleeper(side, 'a')
    for (let hour = 0; hour < 23; hour++) side.broker.sessions.ageSessions()
    assert.equal(side.journal.load().sessions.find(({ clientId }) => clientId === 'a')?.idleHours, 23)
  })
})

test('retained messages are bounded in number and size, those of devices and sites are not', async (t) => {
  const side = await start(t)
  const { retained } = side.broker.sessions
  for (let i = 0; i < 8; i++) await publish(side, `shop/${i}`, ['x'], true)
  for (let i = 0; i < 8; i++) await publish(side, `dev/${i}/st`, ['x'], true)
  const topics = () => [...retained.matching(['shop/#'])].map(({ topic }) => topic)
  assert.deepEqual(topics(), ['shop/3', 'shop/4', 'shop/5', 'shop/6', 'shop/7'])
  assert.equal(retained.size, 13)
  await publish(side, 'shop/7', ['x'.repeat(998)], true)
  assert.deepEqual(topics(), ['shop/5', 'shop/6', 'shop/7'])
  assert.equal(side.broker.sessions.dropped.get('retained_full'), 5)
  assert.deepEqual(
    side.journal
      .load()
      .retained.map(({ topic }) => topic)
      .filter((topic) => topic.startsWith('shop')),
    topics(),
  )
})
