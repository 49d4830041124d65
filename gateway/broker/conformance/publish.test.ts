import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { acknowledgement, idOf, PACKET, packetOf, publishPacket, readPublish, text } from '#testing/mqtt-packets.ts'
import type { RawMqtt } from '#testing/raw-mqtt.ts'
import { rawProgram } from '#testing/raw-program.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

let gateway: TestGateway
let count = 0

before(async () => {
  gateway = await startGateway()
})
after(() => gateway.stop())

function newTopic(): string {
  return `publish/${++count}`
}

async function reading(filters: Record<string, number>): Promise<RawMqtt> {
  const reader = await rawProgram(gateway)
  assert.deepEqual(await reader.subscribe(filters), Object.values(filters))
  return reader
}

async function nextMessage(reader: RawMqtt): Promise<ReturnType<typeof readPublish>> {
  return readPublish(await reader.next(PACKET.publish))
}

/** Returns the retained messages that a subscriber receives, up to one that the sender retains last. */
async function retainedFor(sender: RawMqtt, filter: string, qos = 2): Promise<ReturnType<typeof readPublish>[]> {
  const last = `${filter.replace(/\/?#$/, '')}/last`
  await sender.publish(last, 'last', { isRetained: true })
  const reader = await rawProgram(gateway)
  await reader.subscribe({ [filter]: qos })
  const messages: ReturnType<typeof readPublish>[] = []
  for (;;) {
    const message = await nextMessage(reader)
    if (message.topic === last) return messages
    messages.push(message)
  }
}

describe('a PUBLISH from a client', () => {
  test('[MQTT-3.3.4-1] [MQTT-2.3.1-6] gets no response, PUBACK or PUBREC, with its packet identifier', async () => {
    const client = await rawProgram(gateway)
    const topic = newTopic()
    client.send(publishPacket(topic, 'x', { qos: 0 }))
    assert.deepEqual(await client.flush(), [])
    for (const id of [1, 258, 65_535]) {
      client.send(publishPacket(topic, 'x', { qos: 1, id }))
      assert.equal(idOf(await client.next(PACKET.puback)), id)
      client.send(publishPacket(topic, 'x', { qos: 2, id }))
      assert.equal(idOf(await client.next(PACKET.pubrec)), id)
      client.send(acknowledgement(PACKET.pubrel, id))
      assert.equal(idOf(await client.next(PACKET.pubcomp)), id)
    }
  })

  test('[MQTT-4.3.2-2] may reuse an acknowledged packet identifier, with or without DUP', async () => {
    const topic = newTopic()
    const reader = await reading({ [topic]: 0 })
    const sender = await rawProgram(gateway)
    for (const isDup of [false, true, false]) {
      await sender.publish(topic, `${isDup}`, { isDup })
      assert.equal((await nextMessage(reader)).payload, `${isDup}`)
    }
  })

  test('[MQTT-4.3.3-2] of QoS 2 is delivered once if repeated before PUBREL, and again after PUBCOMP', async () => {
    const topic = newTopic()
    const reader = await reading({ [topic]: 0 })
    const clientId = `twice-${count}`
    let sender = await rawProgram(gateway, { clientId, clean: false })
    const send = async (isDup: boolean) => {
      sender.send(publishPacket(topic, 'x', { qos: 2, id: 7, isDup }))
      assert.equal(idOf(await sender.next(PACKET.pubrec)), 7)
    }
    await send(false)
    await send(true)
    await send(false)
    sender.destroy()
    sender = await rawProgram(gateway, { clientId, clean: false })
    await send(true)
    await nextMessage(reader)
    assert.deepEqual(await reader.flush(), [])
    for (let i = 0; i < 2; i++) {
      sender.send(acknowledgement(PACKET.pubrel, 7))
      assert.equal(idOf(await sender.next(PACKET.pubcomp)), 7)
    }
    await send(false)
    await nextMessage(reader)
  })

  test('[MQTT-4.3.3-2] PUBREL with an unknown packet identifier gets PUBCOMP', async () => {
    const client = await rawProgram(gateway)
    client.send(acknowledgement(PACKET.pubrel, 4711))
    assert.equal(idOf(await client.next(PACKET.pubcomp)), 4711)
  })

  test('acknowledgements that match no message do no harm', async () => {
    const client = await rawProgram(gateway)
    const { puback, pubrec, pubcomp } = PACKET
    client.send(...[puback, pubrec, pubcomp].map((type) => acknowledgement(type, 99)))
    const answers = await client.flush()
    assert.deepEqual(
      answers.map(({ type }) => type),
      [PACKET.pubrel],
    )
  })

  test('[MQTT-3.3.5-2] on a forbidden topic ends the connection', async () => {
    for (const topic of ['dev/some-cart/cmd', 'sit/1/sz', '$SYS/x', '$share/group/x']) {
      const client = await rawProgram(gateway)
      client.send(publishPacket(topic, 'x'))
      assert.equal(await client.nextOrClosed(), null, topic)
    }
  })
})

describe('a malformed PUBLISH closes the connection', () => {
  const closes = async (packet: Buffer): Promise<void> => {
    const client = await rawProgram(gateway)
    client.send(packet)
    assert.equal(await client.nextOrClosed(), null)
  }

  test('[MQTT-3.3.1-4] QoS 3', () => closes(publishPacket('x', 'x', { qos: 3 })))

  test('[MQTT-3.3.1-2] DUP with QoS 0', () => closes(publishPacket('x', 'x', { qos: 0, isDup: true })))

  test('[MQTT-3.3.2-2] [MQTT-4.7.1-1] a wildcard in the topic', async () => {
    for (const topic of ['a/+', '+', '#', 'a/#', 'a+', 'a#b', '/+/'])
      for (const qos of [0, 1, 2]) await closes(publishPacket(topic, 'x', { qos }))
  })

  test('[MQTT-4.7.3-1] an empty topic', async () => {
    for (const qos of [0, 1, 2]) await closes(publishPacket('', 'x', { qos }))
  })

  test('[MQTT-3.3.2-1] [MQTT-1.5.3-1] [MQTT-1.5.3-2] [MQTT-4.7.3-2] a topic with invalid UTF-8 or NUL', async () => {
    for (const bytes of [[0xff], [0xed, 0xa0, 0x80], [0xed, 0xbf, 0xbf], [0xc1, 0xbf], [0xf5, 0x80, 0x80, 0x80]])
      await closes(publishPacket(Buffer.from([0x61, ...bytes, 0x62]), 'x'))
    await closes(publishPacket('a\u0000b', 'x'))
    await closes(publishPacket('\u0000', 'x', { qos: 0 }))
  })

  test('[MQTT-2.3.1-5] QoS 0 has no packet identifier: its bytes would belong to the payload', async () => {
    const reader = await reading({ [newTopic()]: 0 })
    const sender = await rawProgram(gateway)
    sender.send(packetOf(0x30, text(`publish/${count}`), Buffer.from('AB')))
    assert.equal((await nextMessage(reader)).payload, 'AB')
  })
})

describe('a message to a subscriber', () => {
  for (const published of [0, 1, 2]) {
    for (const granted of [0, 1, 2]) {
      test(`[MQTT-3.8.4-6] of QoS ${published} to a subscription of QoS ${granted}`, async () => {
        const topic = newTopic()
        const reader = await reading({ [topic]: granted })
        await (await rawProgram(gateway)).publish(topic, 'x', { qos: published })
        const message = await nextMessage(reader)
        assert.equal(message.qos, Math.min(published, granted))
        assert.equal(message.isDup, false)
        assert.equal(message.id > 0, message.qos > 0)
      })
    }
  }

  test('[MQTT-4.3.1-1] [MQTT-2.3.1-5] of QoS 0 has neither DUP nor packet identifier', async () => {
    const topic = newTopic()
    const reader = await reading({ [topic]: 0 })
    await (await rawProgram(gateway)).publish(topic, 'payload', { qos: 2, isDup: true })
    const { flags, body } = await reader.next(PACKET.publish)
    assert.equal(flags, 0)
    assert.deepEqual(body, Buffer.concat([text(topic), Buffer.from('payload')]))
  })

  test('[MQTT-3.3.1-3] does not carry the DUP flag of its sender', async () => {
    const topic = newTopic()
    const reader = await reading({ [topic]: 2 })
    const sender = await rawProgram(gateway)
    for (const qos of [1, 2]) {
      await sender.publish(topic, 'x', { qos, isDup: true, id: qos })
      assert.equal((await nextMessage(reader)).isDup, false)
    }
  })

  test('[MQTT-4.3.2-1] [MQTT-4.3.3-1] [MQTT-2.3.1-4] [MQTT-2.3.1-2] has an unused packet identifier', async () => {
    const topic = newTopic()
    const reader = await reading({ [topic]: 2 })
    const sender = await rawProgram(gateway)
    for (let i = 0; i < 20; i++) sender.send(publishPacket(topic, `${i}`, { qos: 1 + (i % 2), id: i + 1 }))
    const ids: number[] = []
    for (let i = 0; i < 20; i++) {
      const { id, qos, isDup } = await nextMessage(reader)
      assert.deepEqual([qos, isDup], [1 + (i % 2), false])
      ids.push(id)
    }
    assert.equal(new Set(ids).size, 20)
    assert.ok(ids.every((id) => id > 0))
    // PUBREC is answered with PUBREL of the same packet identifier, however often it is sent
    for (const id of ids.filter((_, i) => i % 2 === 1)) {
      for (let i = 0; i < 2; i++) {
        reader.send(acknowledgement(PACKET.pubrec, id))
        assert.equal(idOf(await reader.next(PACKET.pubrel)), id)
      }
    }
  })

  test('[MQTT-3.3.5-1] is sent once for overlapping subscriptions, with their highest QoS', async () => {
    for (const [filters, published, expected] of [
      [{ '#': 0, '+': 1, '+/+': 2 }, 2, 2],
      [{ '#': 2, '+/+': 0 }, 2, 2],
      [{ '#': 1, '+/+': 0 }, 2, 1],
      [{ '#': 0, '+/+': 1 }, 1, 1],
      [{ '#': 2, '+/+': 1 }, 0, 0],
      [{ '#': 0, '+/+': 0 }, 2, 0],
    ] as const) {
      for (const clean of [true, false]) {
        const topic = newTopic()
        const root = `r${count}`
        const own = Object.fromEntries(Object.entries(filters).map(([filter, qos]) => [`${root}/${filter}`, qos]))
        const reader = await rawProgram(gateway, { clean })
        await reader.subscribe(own)
        await (await rawProgram(gateway)).publish(`${root}/${topic}`, 'x', { qos: published })
        assert.equal((await nextMessage(reader)).qos, expected)
        assert.deepEqual(await reader.flush(), [])
      }
    }
  })

  test('[MQTT-3.3.2-3] [MQTT-4.5.0-1] is sent for every topic that its filter matches, and no other', async () => {
    const reader = await reading({ 'sport/tennis/player1/#': 1, 'sport/+': 1, '+/finance': 1, '/+': 1 })
    const sender = await rawProgram(gateway)
    const topics: [topic: string, isMeant: boolean][] = [
      ['sport/tennis/player1', true],
      ['sport/tennis/player1/ranking', true],
      ['sport/tennis/player1/score/wimbledon', true],
      ['sport/tennis/player2', false],
      ['sport', false],
      ['sport/', true],
      ['sport/tennis', true],
      ['/finance', true],
      ['/news', true],
      ['finance', false],
      ['a/finance', true],
      ['a/b/finance', false],
      ['Sport/tennis', false],
    ]
    for (const [topic] of topics) await sender.publish(topic, 'x')
    const got = (await reader.flush()).filter(({ type }) => type === PACKET.publish).map(readPublish)
    assert.deepEqual(
      got.map(({ topic }) => topic),
      topics.filter(([, isMeant]) => isMeant).map(([topic]) => topic),
    )
  })

  test('[MQTT-4.7.3-4] [MQTT-1.5.3-3] is not sent for a topic that only looks the same', async () => {
    const [composed, decomposed, marked] = ['caf\u00e9', 'cafe\u0301', '\uFEFFcaf\u00e9']
    const reader = await reading({ [composed]: 1 })
    const sender = await rawProgram(gateway)
    for (const topic of [decomposed, marked, 'CAFÉ', ' café', 'café ', 'café/', '/café', composed])
      await sender.publish(topic, topic)
    assert.equal((await nextMessage(reader)).payload, composed)
    assert.deepEqual(await reader.flush(), [])
    const other = await reading({ [marked]: 1 })
    await sender.publish(marked, 'marked')
    assert.equal((await nextMessage(other)).topic, marked)
  })

  test('[MQTT-4.7.3-3] may have a topic of 65,535 bytes', async () => {
    const topic = 'ü'.repeat(32_767).padEnd(32_768, 'x')
    const reader = await reading({ '+': 1 })
    await (await rawProgram(gateway)).publish(topic, 'long')
    assert.equal((await nextMessage(reader)).topic, topic)
  })

  test('[MQTT-4.6.0-5] [MQTT-4.6.0-6] keeps the order of its sender, for each topic and QoS', async () => {
    const topics = [newTopic(), newTopic()]
    const reader = await reading(Object.fromEntries(topics.map((topic) => [topic, 2])))
    const kept = await rawProgram(gateway, { clean: false })
    await kept.subscribe({ 'publish/#': 2 })
    const sender = await rawProgram(gateway)
    const packets = Array.from({ length: 300 }, (_, i) =>
      publishPacket(topics[i % 2] ?? '', `${i}`, { qos: i % 3, id: 1 + (i % 65_535) }),
    )
    sender.send(...packets)
    for (const each of [reader, kept]) {
      const byStream = new Map<string, number[]>()
      for (let i = 0; i < packets.length; i++) {
        const { topic, qos, id, payload } = await nextMessage(each)
        const key = `${topic} ${qos}`
        byStream.set(key, [...(byStream.get(key) ?? []), Number(payload)])
        if (qos === 1) each.send(acknowledgement(PACKET.puback, id))
        if (qos === 2) each.send(acknowledgement(PACKET.pubrec, id), acknowledgement(PACKET.pubcomp, id))
      }
      assert.equal(byStream.size, 6)
      for (const numbers of byStream.values())
        assert.deepEqual(
          numbers,
          [...numbers].sort((a, b) => a - b),
        )
    }
  })

  test('[MQTT-4.6.0-2] [MQTT-4.6.0-3] [MQTT-4.6.0-4] acknowledgements keep the order of messages', async () => {
    const client = await rawProgram(gateway)
    const ids = Array.from({ length: 90 }, (_, i) => i + 1)
    const qosOf = (id: number) => 1 + (id % 2)
    client.send(...ids.map((id) => publishPacket(newTopic(), 'x', { id, qos: qosOf(id) })))
    const got: Record<number, number[]> = { [PACKET.puback]: [], [PACKET.pubrec]: [] }
    for (const _ of ids) {
      const packet = await client.next()
      got[packet.type]?.push(idOf(packet))
    }
    assert.deepEqual(
      got[PACKET.puback],
      ids.filter((id) => qosOf(id) === 1),
    )
    const received = ids.filter((id) => qosOf(id) === 2)
    assert.deepEqual(got[PACKET.pubrec], received)
    client.send(...received.map((id) => acknowledgement(PACKET.pubrel, id)))
    for (const id of received) assert.equal(idOf(await client.next(PACKET.pubcomp)), id)

    const topic = newTopic()
    const reader = await reading({ [topic]: 2 })
    for (let i = 0; i < 20; i++) client.send(publishPacket(topic, `${i}`, { qos: 2, id: 1000 + i }))
    const sent: number[] = []
    for (let i = 0; i < 20; i++) sent.push((await nextMessage(reader)).id)
    reader.send(...sent.map((id) => acknowledgement(PACKET.pubrec, id)))
    for (const id of sent) assert.equal(idOf(await reader.next(PACKET.pubrel)), id)
  })
})

describe('a retained message', () => {
  for (const qos of [0, 1, 2]) {
    test(`[MQTT-3.3.1-5] [MQTT-3.3.1-6] [MQTT-3.3.1-8] of QoS ${qos} reaches new subscribers with RETAIN`, async () => {
      const topic = newTopic()
      const sender = await rawProgram(gateway)
      await sender.publish(`${topic}/x`, 'old', { qos, isRetained: true })
      await sender.publish(`${topic}/x`, 'new', { qos, isRetained: true })
      for (const granted of [0, 1, 2]) {
        const [message, ...more] = await retainedFor(sender, `${topic}/#`, granted)
        assert.deepEqual(
          [message?.payload, message?.qos, message?.isRetained, message?.isDup],
          ['new', Math.min(qos, granted), true, false],
        )
        assert.deepEqual(more, [])
      }
    })
  }

  test('[MQTT-3.3.1-9] reaches existing subscribers without the flag', async () => {
    const topic = newTopic()
    const readers = [await reading({ [topic]: 0 }), await reading({ [topic]: 2 })]
    const kept = await rawProgram(gateway, { clean: false })
    await kept.subscribe({ [topic]: 1 })
    const sender = await rawProgram(gateway)
    for (const qos of [0, 1, 2]) {
      await sender.publish(topic, 'x', { qos, isRetained: true })
      for (const reader of [...readers, kept]) assert.equal((await nextMessage(reader)).isRetained, false)
    }
  })

  test('[MQTT-3.3.1-7] of QoS 0 replaces an earlier one', async () => {
    const topic = newTopic()
    const sender = await rawProgram(gateway)
    await sender.publish(`${topic}/x`, 'one', { qos: 2, isRetained: true })
    await sender.publish(`${topic}/x`, 'nought', { qos: 0, isRetained: true })
    const messages = await retainedFor(sender, `${topic}/#`)
    assert.deepEqual(
      messages.map(({ payload, qos }) => [payload, qos]),
      [['nought', 0]],
    )
  })

  test('[MQTT-3.3.1-10] [MQTT-3.3.1-11] of zero bytes deletes the stored one and is delivered', async () => {
    const topic = newTopic()
    const reader = await reading({ [`${topic}/x`]: 2 })
    const sender = await rawProgram(gateway)
    for (const qos of [0, 1, 2]) {
      await sender.publish(`${topic}/x`, 'kept', { isRetained: true })
      assert.equal((await nextMessage(reader)).payload, 'kept')
      await sender.publish(`${topic}/x`, '', { qos, isRetained: true })
      const { payload, isRetained } = await nextMessage(reader)
      assert.deepEqual([payload, isRetained], ['', false])
      assert.deepEqual(await retainedFor(sender, `${topic}/#`), [])
    }
  })

  test('[MQTT-3.3.1-12] stays when a message without the flag is sent, which is not stored', async () => {
    const topic = newTopic()
    const sender = await rawProgram(gateway)
    await sender.publish(`${topic}/x`, 'kept', { isRetained: true })
    for (const payload of ['passing', '']) await sender.publish(`${topic}/x`, payload, { id: 2 })
    await sender.publish(`${topic}/y`, 'passing', { id: 3 })
    const messages = await retainedFor(sender, `${topic}/#`)
    assert.deepEqual(
      messages.map(({ payload }) => payload),
      ['kept'],
    )
  })

  test('[MQTT-3.1.2-7] survives the session of its sender, and a restart', async () => {
    const topic = newTopic()
    for (const clean of [true, false]) {
      const sender = await rawProgram(gateway, { clientId: 'passing', clean })
      await sender.publish(`${topic}/${clean}`, 'kept', { isRetained: true })
      sender.destroy()
      await rawProgram(gateway, { clientId: 'passing', clean: true })
    }
    await gateway.restart()
    const sender = await rawProgram(gateway)
    assert.equal((await retainedFor(sender, `${topic}/#`)).length, 2)
  })
})
