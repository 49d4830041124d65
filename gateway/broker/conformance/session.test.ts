import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  acknowledgement,
  connectPacket,
  idOf,
  PACKET,
  publishPacket,
  type RawPacket,
  readPublish,
} from '#testing/mqtt-packets.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { programFields, rawProgram } from '#testing/raw-program.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

let gateway: TestGateway

before(async () => {
  gateway = await startGateway()
})
after(() => gateway.stop())

async function kept(clientId: string): Promise<RawMqtt> {
  return rawProgram(gateway, { clientId, clean: false })
}

/** Creates a persistent session with these subscriptions, whose client is offline. */
async function left(clientId: string, filters: Record<string, number>): Promise<void> {
  const client = await kept(clientId)
  await client.subscribe(filters)
  client.send(Buffer.from([0xe0, 0]))
  await client.closed()
}

async function nextMessage(client: RawMqtt): Promise<ReturnType<typeof readPublish>> {
  return readPublish(await client.next(PACKET.publish))
}

function describeAgain(packet: RawPacket): unknown[] {
  if (packet.type !== PACKET.publish) return [packet.type, idOf(packet)]
  const { payload, id, isDup } = readPublish(packet)
  return [packet.type, id, payload, isDup]
}

describe('a kept session', () => {
  test('[MQTT-3.1.2-4] [MQTT-4.1.0-1] is resumed with its subscriptions', async () => {
    await left('resumed', { 'resumed/#': 1 })
    const client = await kept('resumed')
    await (await rawProgram(gateway)).publish('resumed/x', 'live')
    assert.equal((await nextMessage(client)).payload, 'live')
  })

  test('[MQTT-3.1.2-5] [MQTT-4.5.0-1] stores QoS 1 and 2 messages for an offline client, over wildcards', async () => {
    await left('offline', { 'offline/+': 2, 'offline/#': 1 })
    const sender = await rawProgram(gateway)
    const topics = ['offline/a', 'offline/b', 'offline/b/c', 'elsewhere']
    for (const topic of topics) {
      for (const qos of [0, 1, 2]) await sender.publish(topic, `${topic} ${qos}`, { qos, id: 1 + qos })
    }
    await gateway.restart()
    const client = await kept('offline')
    const got: [string, number][] = []
    for (let i = 0; i < 6; i++) {
      const { payload, qos } = await nextMessage(client)
      got.push([payload, qos])
    }
    assert.deepEqual(got, [
      ['offline/a 1', 1],
      ['offline/a 2', 2],
      ['offline/b 1', 1],
      ['offline/b 2', 2],
      ['offline/b/c 1', 1],
      ['offline/b/c 2', 1],
    ])
    assert.deepEqual(await client.flush(), [])
  })

  test('[MQTT-4.4.0-1] [MQTT-3.3.1-1] [MQTT-4.6.0-1] [MQTT-2.3.1-3] resends in order with DUP and ids', async () => {
    const client = await kept('unacknowledged')
    await client.subscribe({ 'unacknowledged/x': 2 })
    const sender = await rawProgram(gateway)
    for (let i = 0; i < 6; i++) await sender.publish('unacknowledged/x', `${i}`, { qos: 1 + (i % 2), id: i + 1 })
    const first: unknown[][] = []
    for (let i = 0; i < 6; i++) first.push(describeAgain(await client.next(PACKET.publish)))
    assert.ok(first.every(([, , , isDup]) => isDup === false))
    for (let round = 0; round < 2; round++) {
      const again = await kept('unacknowledged')
      assert.deepEqual(
        (await again.flush()).map(describeAgain),
        first.map(([type, id, payload]) => [type, id, payload, true]),
      )
    }
  })

  test('[MQTT-4.4.0-1] [MQTT-4.3.3-1] re-sends PUBREL after PUBREC, never PUBLISH again', async () => {
    for (const isRestarted of [false, true]) {
      const clientId = `released-${isRestarted}`
      let client = await kept(clientId)
      await client.subscribe({ [clientId]: 2 })
      await (await rawProgram(gateway)).publish(clientId, 'x', { qos: 2 })
      const { id } = await nextMessage(client)
      client.send(acknowledgement(PACKET.pubrec, id))
      assert.equal(idOf(await client.next(PACKET.pubrel)), id)
      if (isRestarted) await gateway.restart()
      client = await kept(clientId)
      assert.deepEqual((await client.flush()).map(describeAgain), [[PACKET.pubrel, id]])
      client.send(acknowledgement(PACKET.pubcomp, id))
      assert.deepEqual(await client.flush(), [])
      client = await kept(clientId)
      assert.deepEqual(await client.flush(), [])
    }
  })

  test('[MQTT-4.3.2-1] [MQTT-4.3.3-1] deletes a message once it is acknowledged', async () => {
    const client = await kept('done')
    await client.subscribe({ done: 2 })
    const sender = await rawProgram(gateway)
    await sender.publish('done', 'one', { qos: 1 })
    await sender.publish('done', 'two', { qos: 2 })
    const one = await nextMessage(client)
    const two = await nextMessage(client)
    client.send(acknowledgement(PACKET.puback, one.id), acknowledgement(PACKET.pubrec, two.id))
    await client.next(PACKET.pubrel)
    client.send(acknowledgement(PACKET.pubcomp, two.id))
    await client.flush()
    const again = await kept('done')
    assert.deepEqual(await again.flush(), [])
  })

  test('[MQTT-4.3.3-2] remembers over a restart which QoS 2 messages it has received', async () => {
    const reader = await kept('counting')
    await reader.subscribe({ taken: 1 })
    const sender = await kept('repeating')
    sender.send(publishPacket('taken', 'once', { qos: 2, id: 5 }))
    await sender.next(PACKET.pubrec)
    await gateway.restart()
    const again = await kept('repeating')
    again.send(publishPacket('taken', 'once', { qos: 2, id: 5, isDup: true }))
    assert.equal(idOf(await again.next(PACKET.pubrec)), 5)
    again.send(acknowledgement(PACKET.pubrel, 5))
    await again.next(PACKET.pubcomp)
    await again.publish('taken', 'new', { qos: 2, id: 5 })
    const counting = await kept('counting')
    const payloads = (await counting.flush()).map((packet) => readPublish(packet).payload)
    assert.deepEqual(payloads, ['once', 'new'])
  })

  test('[MQTT-3.1.3-2] belongs to one client id', async () => {
    await left('mine', { private: 1 })
    await (await rawProgram(gateway)).publish('private', 'for mine')
    const other = await kept('Mine')
    assert.deepEqual(await other.flush(), [])
    assert.equal((await nextMessage(await kept('mine'))).payload, 'for mine')
  })
})

describe('a clean session', () => {
  test('[MQTT-3.1.2-6] [MQTT-3.1.4-3] discards the kept session and leaves nothing behind', async () => {
    await left('cleared', { 'cleared/#': 1 })
    const sender = await rawProgram(gateway)
    await sender.publish('cleared/x', 'never', { qos: 1 })
    const clean = await rawProgram(gateway, { clientId: 'cleared' })
    await sender.publish('cleared/x', 'never', { qos: 1 })
    assert.deepEqual(await clean.flush(), [])
    await clean.subscribe({ 'cleared/#': 1 })
    clean.send(Buffer.from([0xe0, 0]))
    await clean.closed()
    await sender.publish('cleared/x', 'never', { qos: 1 })
    const client = await RawMqtt.open(gateway.mqtt)
    client.send(connectPacket(await programFields(gateway, { clientId: 'cleared', clean: false })))
    assert.deepEqual([...(await client.next(PACKET.connack)).body], [0, 0])
    await sender.publish('cleared/x', 'never', { qos: 1 })
    assert.deepEqual(await client.flush(), [])
  })

  test('[MQTT-3.1.2-6] does not know the QoS 2 messages of the previous one', async () => {
    const reader = await rawProgram(gateway)
    await reader.subscribe({ forgotten: 0 })
    for (let round = 0; round < 2; round++) {
      const sender = await rawProgram(gateway, { clientId: 'forgetful' })
      sender.send(publishPacket('forgotten', `${round}`, { qos: 2, id: 5 }))
      await sender.next(PACKET.pubrec)
      assert.equal((await nextMessage(reader)).payload, `${round}`)
      sender.destroy()
    }
  })

  test('[MQTT-4.1.0-2] [MQTT-4.1.0-1] lasts as long as its connection', async () => {
    const client = await rawProgram(gateway)
    await client.subscribe({ lasting: 1 })
    const sender = await rawProgram(gateway)
    for (let i = 0; i < 50; i++) {
      await sender.publish('lasting', `${i}`)
      const { payload, id } = await nextMessage(client)
      assert.equal(payload, `${i}`)
      client.send(acknowledgement(PACKET.puback, id))
    }
  })
})
