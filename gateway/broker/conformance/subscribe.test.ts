import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  acknowledgement,
  idOf,
  PACKET,
  packetOf,
  publishPacket,
  readPublish,
  subscribePacket,
  text,
  unsubscribePacket,
} from '#testing/mqtt-packets.ts'
import type { RawMqtt } from '#testing/raw-mqtt.ts'
import { rawProgram } from '#testing/raw-program.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

const NOT_UTF8 = [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe2, 0x82]].map((bytes) => Buffer.from(bytes))

let gateway: TestGateway

before(async () => {
  gateway = await startGateway()
})
after(() => gateway.stop())

async function assertCloses(packet: Buffer, what?: string): Promise<void> {
  const client = await rawProgram(gateway)
  client.send(packet)
  assert.equal(await client.nextOrClosed(), null, what)
}

async function nextPayload(reader: RawMqtt): Promise<string> {
  return readPublish(await reader.next(PACKET.publish)).payload
}

describe('SUBSCRIBE', () => {
  test('[MQTT-3.8.4-1] [MQTT-3.8.4-2] [MQTT-2.3.1-7] gets a SUBACK with its packet identifier', async () => {
    const client = await rawProgram(gateway)
    for (const id of [1, 258, 65_535]) {
      client.send(subscribePacket({ 'answered/x': 1 }, id))
      const packet = await client.next()
      assert.deepEqual([packet.type, packet.flags, idOf(packet)], [PACKET.suback, 0, id])
    }
  })

  test('[MQTT-3.8.4-5] [MQTT-3.9.3-1] [MQTT-3.9.3-2] gets a return code for each filter, in order', async () => {
    for (const clean of [true, false]) {
      const client = await rawProgram(gateway, { clean })
      const pairs = [
        ['codes/a', 2],
        ['codes/b', 0],
        ['$session', 1],
        ['codes/+', 1],
        ['codes/#', 2],
      ] as const
      assert.deepEqual(await client.subscribe(pairs), [2, 0, 128, 1, 2])
    }
  })

  test('[MQTT-3.8.4-5] [MQTT-3.8.4-4] gets two codes for a repeated filter, and the last one applies', async () => {
    for (const clean of [true, false]) {
      const client = await rawProgram(gateway, { clean })
      const pairs = [
        ['double/x', 2],
        ['double/y', 1],
        ['double/x', 0],
        ['double/y', 1],
        ['double/z', 0],
        ['double/z', 2],
      ] as const
      assert.deepEqual(await client.subscribe(pairs), [2, 1, 0, 1, 0, 2])
      const sender = await rawProgram(gateway)
      for (const [topic, qos] of [
        ['double/x', 0],
        ['double/y', 1],
        ['double/z', 2],
      ] as const) {
        await sender.publish(topic, topic, { qos: 2 })
        const message = readPublish(await client.next(PACKET.publish))
        assert.deepEqual([message.topic, message.qos], [topic, qos])
      }
      const publications = (await client.flush()).filter(({ type }) => type === PACKET.publish)
      assert.deepEqual(publications, [])
    }
  })

  test('[MQTT-3.8.4-4] with several topic filters works like several with one', async () => {
    const client = await rawProgram(gateway)
    const filters = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`many/${i}`, i % 3]))
    assert.deepEqual(await client.subscribe(filters), Object.values(filters))
    const sender = await rawProgram(gateway)
    for (const topic of Object.keys(filters)) {
      await sender.publish(topic, topic, { qos: 0 })
      assert.equal(await nextPayload(client), topic)
    }
  })

  test('[MQTT-3.8.4-3] replaces an equal subscription and sends retained messages again', async () => {
    for (const clean of [true, false]) {
      const topic = `again/${clean}`
      const sender = await rawProgram(gateway)
      await sender.publish(topic, 'retained', { qos: 2, isRetained: true })
      const client = await rawProgram(gateway, { clean })
      for (const qos of [1, 2, 2, 0, 1]) {
        assert.deepEqual(await client.subscribe({ [topic]: qos }), [qos])
        const retained = readPublish(await client.next(PACKET.publish))
        assert.deepEqual([retained.payload, retained.isRetained, retained.qos], ['retained', true, qos])
        await sender.publish(topic, 'live', { qos: 2 })
        const live = readPublish(await client.next(PACKET.publish))
        assert.deepEqual([live.payload, live.qos], ['live', qos])
        for (const { id } of [retained, live]) {
          if (qos === 1) client.send(acknowledgement(PACKET.puback, id))
          if (qos === 2) client.send(acknowledgement(PACKET.pubrec, id), acknowledgement(PACKET.pubcomp, id))
        }
        const more = (await client.flush()).filter(({ type }) => type === PACKET.publish)
        assert.deepEqual(more, [])
      }
    }
  })

  test('[MQTT-3.8.4-3] to an existing filter does not interrupt the flow of messages', async () => {
    const client = await rawProgram(gateway)
    await client.subscribe({ 'flow/x': 0 })
    const sender = await rawProgram(gateway)
    const sent = Array.from({ length: 200 }, (_, i) => `${i}`)
    for (const payload of sent) {
      client.send(subscribePacket({ 'flow/x': Number(payload) % 2 }))
      await sender.publish('flow/x', payload, { qos: 1 })
    }
    const got: string[] = []
    while (got.length < sent.length) {
      const { payload, id } = readPublish(await client.next(PACKET.publish))
      got.push(payload)
      if (id > 0) client.send(acknowledgement(PACKET.puback, id))
    }
    assert.deepEqual(got, sent)
  })

  test('[MQTT-3.8.4-4] sends the retained messages of each of its filters', async () => {
    await (await rawProgram(gateway)).publish('each/x', 'kept', { isRetained: true })
    const client = await rawProgram(gateway)
    await client.subscribe({ 'each/x': 0, 'each/+': 0, 'each/#': 0, 'other/#': 0 })
    for (let i = 0; i < 3; i++) assert.equal(await nextPayload(client), 'kept')
    assert.deepEqual(await client.flush(), [])
  })

  test('applies to messages sent directly after it', async () => {
    const client = await rawProgram(gateway)
    const topic = 'behind/x'
    for (const qos of [0, 1]) {
      client.send(subscribePacket({ [`${topic}/${qos}`]: 1 }), publishPacket(`${topic}/${qos}`, 'own', { qos }))
      assert.equal(await nextPayload(client), 'own')
    }
  })

  test('[MQTT-3.8.3-3] without a topic filter closes the connection', () => assertCloses(subscribePacket({})))

  test('[MQTT-3.8.3-4] with QoS 3 or reserved bits closes the connection', async () => {
    for (const options of [3, 4, 8, 0x10, 0x20, 0x40, 0x80, 0xfd])
      await assertCloses(subscribePacket({ x: options }), `${options}`)
    await assertCloses(subscribePacket({ x: 1, y: 3 }))
    // without options
    await assertCloses(packetOf(0x82, Buffer.from([0, 1]), text('x')))
  })

  test('[MQTT-3.8.3-1] [MQTT-1.5.3-1] [MQTT-1.5.3-2] [MQTT-4.7.3-2] invalid UTF-8 or NUL disconnects', async () => {
    for (const filter of [...NOT_UTF8, Buffer.from('a\u0000')]) {
      await assertCloses(subscribePacket([[filter, 0]]))
      await assertCloses(
        subscribePacket([
          ['fine', 0],
          [filter, 0],
        ]),
      )
    }
  })

  test('[MQTT-4.7.1-2] [MQTT-4.7.1-3] [MQTT-4.7.3-1] with a malformed filter closes the connection', async () => {
    for (const filter of ['', 'a+', '+a', 'a/+b', 'a+/b', '#/a', 'a#', 'a/#/b', '##', '++', '+#', '/#a', 'a/b#'])
      await assertCloses(subscribePacket({ [filter]: 0 }), filter)
  })

  test('[MQTT-3.8.3-2] [MQTT-4.7.1-2] [MQTT-4.7.1-3] with wildcards in any valid place is granted', async () => {
    const client = await rawProgram(gateway)
    for (const filter of ['#', '+', '/#', '/+', '+/+', '+/#', 'a/#', 'a/+', 'a/+/b', '+/a/#', 'a//+', '//', '/'])
      assert.deepEqual(await client.subscribe({ [filter]: 1 }), [1], filter)
  })
})

test('[MQTT-4.7.2-1] filters that begin with a wildcard do not match topics that begin with $', async () => {
  const asker = await rawProgram(gateway)
  await asker.subscribe({ '$SYS/#': 0 })
  const wild = await rawProgram(gateway)
  await wild.subscribe({ '#': 0, '+': 0, '+/#': 0, '+/+/new/clients': 1, '+/+/+/+': 2 })
  const kept = await rawProgram(gateway, { clean: false })
  await kept.subscribe({ '#': 2, '+/+/new/clients': 1 })
  await rawProgram(gateway)
  // the broker publishes status messages under $SYS
  assert.match(readPublish(await asker.next(PACKET.publish)).topic, /^\$SYS\//)
  await (await rawProgram(gateway)).publish('dollar', 'after')
  for (const client of [wild, kept]) {
    const topics: string[] = []
    while (topics.at(-1) !== 'dollar') topics.push(readPublish(await client.next(PACKET.publish)).topic)
    assert.ok(topics.every((topic) => !topic.startsWith('$')))
  }
})

describe('UNSUBSCRIBE', () => {
  test('[MQTT-3.10.4-4] [MQTT-3.10.4-5] [MQTT-2.3.1-7] gets an UNSUBACK, whether subscribed or not', async () => {
    for (const clean of [true, false]) {
      const client = await rawProgram(gateway, { clean })
      await client.subscribe({ 'left/x': 1 })
      for (const [filter, id] of [
        ['left/x', 1],
        ['left/x', 258],
        ['never', 65_535],
      ] as const) {
        client.send(unsubscribePacket([filter], id))
        const packet = await client.next()
        assert.deepEqual([packet.type, packet.flags, packet.body.length], [PACKET.unsuback, 0, 2])
        assert.equal(idOf(packet), id)
      }
    }
  })

  test('[MQTT-3.10.4-1] [MQTT-3.10.4-2] ends the subscription with exactly that filter', async () => {
    for (const clean of [true, false]) {
      const clientId = `exact-${clean}`
      let client = await rawProgram(gateway, { clientId, clean })
      await client.subscribe({ 'exact/a': 1, 'exact/+': 1, 'Exact/a': 1 })
      client.send(unsubscribePacket(['exact/#', '+/a', 'EXACT/a', 'exact/a/', 'exact/+']))
      await client.next(PACKET.unsuback)
      if (!clean) {
        client.destroy()
        client = await rawProgram(gateway, { clientId, clean })
      }
      const sender = await rawProgram(gateway)
      for (const topic of ['exact/b', 'exact/a', 'exact/c', 'Exact/a']) await sender.publish(topic, topic)
      assert.equal(await nextPayload(client), 'exact/a')
      assert.equal(await nextPayload(client), 'Exact/a')
      client.send(unsubscribePacket(['exact/a', 'Exact/a']))
      await client.next(PACKET.unsuback)
      for (const topic of ['exact/a', 'Exact/a']) await sender.publish(topic, topic)
      assert.deepEqual(await client.flush(), [])
    }
  })

  test('[MQTT-3.10.4-6] with several filters gets one response', async () => {
    const client = await rawProgram(gateway)
    await client.subscribe({ 'some/a': 1, 'some/b': 1, 'some/c': 1 })
    client.send(unsubscribePacket(['some/a', 'never', 'some/c', 'some/a'], 9))
    const answers = await client.flush()
    assert.deepEqual(
      answers.map((packet) => [packet.type, idOf(packet)]),
      [[PACKET.unsuback, 9]],
    )
    const sender = await rawProgram(gateway)
    for (const topic of ['some/a', 'some/c', 'some/b']) await sender.publish(topic, topic)
    assert.equal(await nextPayload(client), 'some/b')
  })

  test('[MQTT-3.10.4-3] completes messages already sent, also over a reconnect', async () => {
    const clientId = 'completing'
    let client = await rawProgram(gateway, { clientId, clean: false })
    await client.subscribe({ 'begun/x': 2 })
    const sender = await rawProgram(gateway)
    await sender.publish('begun/x', 'one', { qos: 1 })
    await sender.publish('begun/x', 'two', { qos: 2, id: 2 })
    const one = readPublish(await client.next(PACKET.publish))
    const two = readPublish(await client.next(PACKET.publish))
    client.send(unsubscribePacket(['begun/x']))
    await client.next(PACKET.unsuback)
    client.send(acknowledgement(PACKET.pubrec, two.id))
    assert.equal(idOf(await client.next(PACKET.pubrel)), two.id)
    client.destroy()
    client = await rawProgram(gateway, { clientId, clean: false })
    const again = readPublish(await client.next(PACKET.publish))
    assert.deepEqual([again.payload, again.id, again.isDup], ['one', one.id, true])
    assert.equal(idOf(await client.next(PACKET.pubrel)), two.id)
  })

  test('[MQTT-3.10.3-2] without a topic filter closes the connection', () => assertCloses(unsubscribePacket([])))

  test('[MQTT-3.10.3-1] [MQTT-1.5.3-1] [MQTT-1.5.3-2] with invalid UTF-8 or NUL closes the connection', async () => {
    for (const filter of [...NOT_UTF8, Buffer.from('a\u0000')]) await assertCloses(unsubscribePacket(['fine', filter]))
  })

  test('[MQTT-4.7.1-2] [MQTT-4.7.1-3] [MQTT-4.7.3-1] with a malformed filter closes the connection', async () => {
    for (const filter of ['', 'a+', '+a', 'a#', '#/a']) await assertCloses(unsubscribePacket([filter]), filter)
  })
})

test('[MQTT-3.12.4-1] PINGREQ gets a PINGRESP', async () => {
  const client = await rawProgram(gateway)
  client.send(Buffer.from([0xc0, 0]))
  assert.deepEqual(await client.next(), { type: PACKET.pingresp, flags: 0, body: Buffer.alloc(0) })
})
