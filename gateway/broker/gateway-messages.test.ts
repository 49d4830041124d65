import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Downlink } from '#domain/downlink.ts'
import { publishWith } from '#services/downlink.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { PACKET, type RawPacket, readPublish, subscribePacket } from '#testing/mqtt-packets.ts'
import { connectTo, type OpenBroker, startBroker } from '#testing/open-broker.ts'
import type { RawMqtt } from '#testing/raw-mqtt.ts'

async function subscribe(client: RawMqtt, topicFilter: string, qos = 1): Promise<void> {
  client.send(subscribePacket({ [topicFilter]: qos }))
  await client.next(PACKET.suback)
}

async function leave(side: OpenBroker, client: RawMqtt): Promise<void> {
  const connected = side.connectedClients
  client.destroy()
  await eventually(() => side.connectedClients === connected - 1, 'gone')
}

function messageOf(packet: RawPacket): { topic: string; payload: string; qos: number; isRetained: boolean } {
  const { topic, payload, qos, isRetained } = readPublish(packet)
  return { topic, payload, qos, isRetained }
}

const CONFIG = { topic: 'cfg', payload: '{"v":1}', isRetained: true }

/** Prepares a message and writes its changes as a transaction of the gateway would. */
function publish(side: OpenBroker, message = CONFIG): Promise<void> {
  const downlink: Downlink = side.broker
  return publishWith([downlink.prepare(message)], (changes, commit) => {
    return new Promise((resolve, reject) => {
      side.journal.append(
        changes,
        () => {
          commit()
          resolve()
        },
        (reason) => reject(new Error(reason)),
      )
    })
  })
}

describe('a prepared message', () => {
  test('reaches connected clients, later ones and, after a restart, those with a kept session', async (t) => {
    const side = await startBroker(t)
    const away = await connectTo(side, 'away', false)
    await subscribe(away, 'cfg')
    await leave(side, away)
    const here = await connectTo(side, 'here')
    await subscribe(here, 'cfg')
    await publish(side)
    const live = { topic: 'cfg', payload: '{"v":1}', qos: 1, isRetained: false }
    assert.deepEqual(messageOf(await here.next(PACKET.publish)), live)
    const later = await connectTo(side, 'later')
    await subscribe(later, 'cfg')
    assert.deepEqual(messageOf(await later.next(PACKET.publish)), { ...live, isRetained: true })

    const next = await startBroker(t, { journal: side.journal })
    const back = await connectTo(next, 'away', false)
    assert.deepEqual(messageOf(await back.next(PACKET.publish)), live)
    const newcomer = await connectTo(next, 'newcomer')
    await subscribe(newcomer, 'cfg')
    assert.deepEqual(messageOf(await newcomer.next(PACKET.publish)), { ...live, isRetained: true })
  })

  test('is invisible before it is committed and discarded if it is abandoned', async (t) => {
    const side = await startBroker(t)
    const kept = await connectTo(side, 'kept', false)
    await subscribe(kept, 'cfg')
    side.broker.prepare({ ...CONFIG, payload: '{"v":0}' })
    const failed = publishWith([side.broker.prepare(CONFIG)], () => Promise.reject(new Error('disk full')))
    await assert.rejects(failed, /disk full/)
    await publish(side, { ...CONFIG, payload: '{"v":2}' })
    assert.equal(messageOf(await kept.next(PACKET.publish)).payload, '{"v":2}')
    assert.equal(side.broker.sessions.get('kept')?.outbox.messageCount, 1)
  })

  test('is sent only to clients that may read the topic', async (t) => {
    const side = await startBroker(t, { port: { canRead: (_owner, topic) => topic !== 'cfg' } })
    const client = await connectTo(side, 'client', false)
    await subscribe(client, '#')
    await publish(side)
    await publish(side, { topic: 'other', payload: 'x', isRetained: false })
    assert.equal(messageOf(await client.next(PACKET.publish)).topic, 'other')
  })
})

describe('a direct message', () => {
  test('reaches the connection that has subscribed to its topic, in the requested QoS', async (t) => {
    const side = await startBroker(t)
    assert.equal(side.broker.send('cart', 'cmd', 'nobody'), false)
    const cart = await connectTo(side, 'cart')
    assert.equal(side.broker.send('cart', 'cmd', 'not subscribed'), false)
    for (const qos of [1, 0]) {
      await subscribe(cart, 'cmd', qos)
      assert.equal(side.broker.send('cart', 'cmd', `qos ${qos}`), true)
      const message = messageOf(await cart.next(PACKET.publish))
      assert.deepEqual(message, { topic: 'cmd', payload: `qos ${qos}`, qos, isRetained: false })
    }
    await leave(side, cart)
    assert.equal(side.broker.send('cart', 'cmd', 'gone'), false)
  })

  for (const isClean of [true, false])
    test(`waits until the gateway knows the subscription (${isClean ? 'clean' : 'kept'} session)`, async (t) => {
      let isKnown = false
      const side = await startBroker(t, { port: { subscribed: () => (isKnown = true) } })
      const cart = await connectTo(side, 'cart', isClean)
      cart.send(subscribePacket({ cmd: 1 }))
      while (!side.broker.send('cart', 'cmd', 'lock')) await new Promise((resolve) => setImmediate(resolve))
      assert.ok(isKnown)
    })

  test('is discarded with the connection, even if the session is kept', async (t) => {
    const side = await startBroker(t)
    const cart = await connectTo(side, 'cart', false)
    await subscribe(cart, 'cmd')
    assert.equal(side.broker.send('cart', 'cmd', 'unlock'), true)
    await cart.next(PACKET.publish)
    await leave(side, cart)
    const back = await connectTo(side, 'cart', false)
    assert.equal(side.broker.sessions.get('cart')?.outbox.messageCount, 0)
    await eventually(() => side.broker.send('cart', 'cmd', 'lock'), 'logged in')
    assert.equal(messageOf(await back.next(PACKET.publish)).payload, 'lock')
    // a second connection with the same client id takes over
    const successor = await connectTo(side, 'cart', false)
    await eventually(() => side.broker.send('cart', 'cmd', 'locate'), 'logged in')
    assert.equal(messageOf(await successor.next(PACKET.publish)).payload, 'locate')
  })
})

test('a new subscription to a topic is reported once per connection', async (t) => {
  const reported: string[][] = []
  const side = await startBroker(t, {
    port: {
      canSubscribe: (_owner, topicFilter) => topicFilter !== 'denied',
      subscribed: (_login, topicFilters) => reported.push([...topicFilters]),
    },
  })
  const cart = await connectTo(side, 'cart', false)
  await subscribe(cart, 'denied')
  await subscribe(cart, 'cmd')
  await subscribe(cart, 'cmd')
  assert.deepEqual(reported.splice(0), [['cmd']])
  await leave(side, cart)
  const back = await connectTo(side, 'cart', false)
  await subscribe(back, 'cmd')
  await eventually(() => reported.length > 0, 'the subscription is reported')
  assert.deepEqual(reported, [['cmd']])
})
