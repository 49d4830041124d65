import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import {
  acknowledgement,
  type ConnectFields,
  connectPacket,
  PACKET,
  packetOf,
  publishPacket,
  readPublish,
  subscribePacket,
  text,
  unsubscribePacket,
} from '#testing/mqtt-packets.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { programFields, rawProgram } from '#testing/raw-program.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

const DISCONNECT = Buffer.from([0xe0, 0])
const PINGREQ = Buffer.from([0xc0, 0])
const LETTERS = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'

let gateway: TestGateway

before(async () => {
  gateway = await startGateway()
})
after(() => gateway.stop())

/** Sends bytes on a new connection and expects it to be closed without a response. */
async function assertClosedUnanswered(bytes: Buffer, what?: string): Promise<void> {
  const client = await RawMqtt.open(gateway.mqtt)
  client.send(bytes)
  assert.equal(await client.nextOrClosed(), null, what)
}

/** Sends CONNECT; returns the raw CONNACK. */
async function connack(fields: Partial<ConnectFields>): Promise<{ client: RawMqtt; body: number[] }> {
  const client = await RawMqtt.open(gateway.mqtt)
  client.send(connectPacket(await programFields(gateway, fields)))
  const packet = await client.next()
  assert.equal(packet.type, PACKET.connack)
  assert.equal(packet.flags, 0)
  return { client, body: [...packet.body] }
}

/** Expects a CONNACK with a return code and session present 0, then the close, with nothing in between. */
async function assertRefused(fields: Partial<ConnectFields>, returnCode: number): Promise<void> {
  const { client, body } = await connack(fields)
  assert.deepEqual(body, [0, returnCode])
  assert.equal(await client.nextOrClosed(), null)
}

/** Builds CONNECT with the given connect flags. */
function connectWith(flags: number, ...payload: Buffer[]): Buffer {
  return packetOf(0x10, text('MQTT'), Buffer.from([4, flags, 0, 60]), ...payload)
}

async function login(): Promise<{ username: Buffer; password: Buffer }> {
  const { username = '', password = '' } = await programFields(gateway)
  return { username: text(username), password: text(password) }
}

/** Returns a subscriber to the topic of a will. */
async function watcherOf(topic: string): Promise<RawMqtt> {
  const watcher = await rawProgram(gateway)
  assert.deepEqual(await watcher.subscribe({ [topic]: 2 }), [2])
  return watcher
}

test('[MQTT-3.1.0-1] [MQTT-4.8.0-1] a first packet that is not CONNECT closes the connection', async () => {
  for (const packet of [
    publishPacket('first', 'x'),
    subscribePacket({ first: 0 }),
    unsubscribePacket(['first']),
    acknowledgement(PACKET.puback, 1),
    acknowledgement(PACKET.pubrel, 1),
    PINGREQ,
    DISCONNECT,
  ]) {
    await assertClosedUnanswered(packet)
  }
})

test('[MQTT-3.1.0-2] [MQTT-3.1.2-8] a second CONNECT closes the connection, and its will is published', async () => {
  const watcher = await watcherOf('second/connect')
  const will = { topic: 'second/connect', payload: 'gone', isRetained: false }
  const fields = await programFields(gateway, { will })
  const client = await RawMqtt.open(gateway.mqtt)
  assert.equal(await client.login(fields), 0)
  client.send(connectPacket(fields))
  assert.equal(await client.nextOrClosed(), null)
  assert.equal(readPublish(await watcher.next(PACKET.publish)).payload, 'gone')
  // both in one write, the second before the first is answered
  const hasty = await RawMqtt.open(gateway.mqtt)
  hasty.send(connectPacket(fields), connectPacket(fields))
  await hasty.closed()
})

test('[MQTT-3.1.2-1] a wrong protocol name closes the connection', async () => {
  const { username, password } = await login()
  for (const name of ['hj', '', 'mqtt', 'MQTT ', 'MQTTT', 'MQIsdp', 'AMQP']) {
    const rest = Buffer.from([4, 0xc2, 0, 60])
    const client = await RawMqtt.open(gateway.mqtt)
    client.send(packetOf(0x10, text(name), rest, text('named'), username, password))
    const answer = await client.nextOrClosed()
    // MQTT 3.1 has another protocol name, which does not permit level 4
    if (name === 'MQIsdp') assert.deepEqual([...(answer?.body ?? [])], [0, 1])
    else assert.equal(answer, null, name)
    await client.closed()
  }
})

test('[MQTT-3.1.2-2] an unsupported protocol level gets return code 1', async () => {
  const { username, password } = await login()
  for (const level of [0, 1, 2, 3, 5, 6, 0x7f, 0x83, 0x84, 0xff]) {
    const client = await RawMqtt.open(gateway.mqtt)
    const start = [text('MQTT'), Buffer.from([level, 0xc2, 0, 60])]
    client.send(packetOf(0x10, ...start, text('levelled'), username, password))
    assert.deepEqual([...(await client.next(PACKET.connack)).body], [0, 1], `level ${level}`)
    assert.equal(await client.nextOrClosed(), null)
  }
})

test('[MQTT-3.1.2-3] the reserved connect flag closes the connection', async () => {
  const { username, password } = await login()
  await assertClosedUnanswered(connectWith(0xc3, text('reserved'), username, password))
})

describe('inconsistent fields of CONNECT close the connection without a response', () => {
  const id = text('odd')
  const will = [text('odd/will'), text('gone')]
  const cases: [name: string, flags: number, payload: (credentials: Buffer[]) => Buffer[]][] = [
    ['[MQTT-3.1.2-11] a will topic without the will flag', 0xc2, (c) => [id, ...will, ...c]],
    ['[MQTT-3.1.2-13] will QoS without the will flag', 0xca, (c) => [id, ...c]],
    ['[MQTT-3.1.2-14] will QoS 3', 0xde, (c) => [id, ...will, ...c]],
    ['[MQTT-3.1.2-15] will retain without the will flag', 0xe2, (c) => [id, ...c]],
    ['[MQTT-3.1.2-9] the will flag without a will', 0xc6, (c) => [id, ...c]],
    ['[MQTT-3.1.2-18] a user name without its flag', 0x02, (c) => [id, ...c]],
    ['[MQTT-3.1.2-19] the user name flag without a user name', 0x82, () => [id]],
    ['[MQTT-3.1.2-20] a password without its flag', 0x82, (c) => [id, ...c]],
    ['[MQTT-3.1.2-21] the password flag without a password', 0xc2, ([user = id]) => [id, user]],
    ['[MQTT-3.1.2-22] a password without a user name', 0x42, ([, key = id]) => [id, key]],
    ['[MQTT-3.1.3-3] no client id', 0x02, () => []],
    ['[MQTT-3.1.3-1] [MQTT-3.1.4-1] a byte after the last field', 0xc2, (c) => [id, ...c, Buffer.from([0])]],
  ]
  for (const [name, flags, payload] of cases) {
    test(name, async () => {
      const { username, password } = await login()
      await assertClosedUnanswered(connectWith(flags, ...payload([username, password])))
    })
  }
})

describe('strings of CONNECT', () => {
  const MALFORMED = [
    ['a lone byte', Buffer.from([0x61, 0xff])],
    ['a surrogate', Buffer.from([0xed, 0xa0, 0x80])],
    ['a pair of surrogates', Buffer.from([0xed, 0xa0, 0x81, 0xed, 0xb0, 0x80])],
    ['an overlong encoding', Buffer.from([0xc0, 0x80])],
    ['a cut off character', Buffer.from([0x61, 0xe2, 0x82])],
    ['U+0000', Buffer.from('a\u0000b')],
  ] as const
  const fields: [name: string, make: (bytes: Buffer) => Partial<ConnectFields>][] = [
    ['[MQTT-1.5.3-1] [MQTT-1.5.3-2] [MQTT-3.1.3-4] a malformed client id', (clientId) => ({ clientId })],
    ['[MQTT-3.1.3-11] a malformed user name', (username) => ({ username })],
    ['[MQTT-3.1.3-10] a malformed will topic', (topic) => ({ will: { topic, payload: '' } })],
  ]
  for (const [name, make] of fields) {
    test(`${name} closes the connection without a response`, async () => {
      for (const [what, bytes] of MALFORMED) {
        await assertClosedUnanswered(connectPacket(await programFields(gateway, make(bytes))), what)
      }
    })
  }

  test('[MQTT-1.5.3-3] a byte order mark is an ordinary character and distinguishes client ids', async () => {
    const plain = await rawProgram(gateway, { clientId: 'marked' })
    const marked = await rawProgram(gateway, { clientId: '\uFEFFmarked' })
    assert.deepEqual(await plain.flush(), [])
    assert.deepEqual(await marked.flush(), [])
  })

  test('the replacement character itself is an ordinary character', async () => {
    await rawProgram(gateway, { clientId: 'a\uFFFDb' })
  })
})

describe('the client id', () => {
  test('[MQTT-3.1.3-5] of 1 to 23 letters and digits is allowed', async () => {
    for (const clientId of ['0', LETTERS.slice(0, 23), LETTERS.slice(20, 43), LETTERS.slice(-23)])
      await rawProgram(gateway, { clientId })
  })

  test('[MQTT-3.1.3-6] of zero bytes is replaced by a generated one', async () => {
    const clients = [
      await rawProgram(gateway, { clientId: '' }),
      await rawProgram(gateway, { clientId: '' }),
      await rawProgram(gateway, { clientId: '', clean: true }),
    ]
    for (const client of clients) {
      assert.deepEqual(await client.subscribe({ 'unnamed/x': 1 }), [1])
    }
    await (await rawProgram(gateway)).publish('unnamed/x', 'to all')
    for (const client of clients) assert.equal(readPublish(await client.next(PACKET.publish)).payload, 'to all')
  })

  test('[MQTT-3.1.3-7] [MQTT-3.1.3-8] of zero bytes with clean session 0 gets return code 2', async () => {
    await assertRefused({ clientId: '', clean: false }, 2)
  })

  test('[MQTT-3.1.3-9] that is invalid gets return code 2: too long, or not the device’s', async () => {
    await assertRefused({ clientId: 'x'.repeat(257) }, 2)
    await assertRefused({ clientId: 'x'.repeat(60_000) }, 2)
    const password = await gateway.register('some-cart')
    await assertRefused({ clientId: 'another-cart', username: 'some-cart', password }, 2)
  })

  test('[MQTT-3.1.4-2] [MQTT-3.1.3-2] that is in use takes over from the earlier connection', async () => {
    for (const clean of [true, false]) {
      const older = await rawProgram(gateway, { clientId: 'twice', clean })
      const newer = await rawProgram(gateway, { clientId: 'twice', clean })
      await older.closed()
      assert.deepEqual(await newer.flush(), [])
      newer.destroy()
    }
  })
})

describe('CONNACK', () => {
  test('[MQTT-3.1.4-4] [MQTT-3.1.4-3] [MQTT-3.2.2-1] of a clean session reports no session', async () => {
    const { body, client } = await connack({ clientId: 'cleaned', clean: false })
    assert.deepEqual(body, [0, 0])
    client.destroy()
    assert.deepEqual((await connack({ clientId: 'cleaned', clean: true })).body, [0, 0])
  })

  test('[MQTT-3.2.2-2] [MQTT-3.2.2-3] reports a kept session', async () => {
    for (const isSubscribed of [false, true]) {
      const clientId = `present-${isSubscribed}`
      const first = await connack({ clientId, clean: false })
      assert.deepEqual(first.body, [0, 0])
      if (isSubscribed) await first.client.subscribe({ present: 1 })
      first.client.destroy()
      const second = await connack({ clientId, clean: false })
      assert.deepEqual(second.body, [1, 0])
      second.client.destroy()
      assert.deepEqual((await connack({ clientId, clean: true })).body, [0, 0])
      assert.deepEqual((await connack({ clientId, clean: false })).body, [0, 0])
    }
  })

  test('[MQTT-3.2.2-4] [MQTT-3.2.2-5] with an error code reports no session, and the connection closes', async () => {
    const { client } = await connack({ clientId: 'refused', clean: false })
    client.destroy()
    await assertRefused({ clientId: 'refused', clean: false, password: 'wrong' }, 4)
    await assertRefused({ clientId: 'refused', clean: false, will: { topic: '$SYS/x', payload: '' } }, 5)
  })

  test('[MQTT-3.2.0-1] comes first, even if messages are published meanwhile', async () => {
    const sender = await rawProgram(gateway)
    const clientId = 'flooded'
    const reader = await rawProgram(gateway, { clientId, clean: false })
    await reader.subscribe({ 'flood/#': 0, 'flood/1': 1 })
    const will = { topic: 'flood/will', payload: '', isRetained: false }
    const fields = await programFields(gateway, { clientId, clean: false, will })
    for (let round = 0; round < 20; round++) {
      const again = await RawMqtt.open(gateway.mqtt)
      again.send(connectPacket(fields))
      const flood = Array.from({ length: 200 }, (_, i) => publishPacket('flood/0', `${i}`, { qos: 0 }))
      sender.send(...flood, publishPacket('flood/1', 'x', { id: round + 1 }))
      assert.equal((await again.next()).type, PACKET.connack)
      await sender.next(PACKET.puback)
    }
  })
})

describe('packets directly after CONNECT', () => {
  test('are handled once the client is accepted, in any amount', async () => {
    const reader = await rawProgram(gateway)
    await reader.subscribe({ 'hasty/#': 1 })
    const hasty = await RawMqtt.open(gateway.mqtt)
    const packets = Array.from({ length: 500 }, (_, i) => publishPacket('hasty/x', `${i}`, { id: i + 1 }))
    hasty.send(connectPacket(await programFields(gateway)), subscribePacket({ 'hasty/y': 0 }, 7), ...packets)
    assert.equal((await hasty.next()).type, PACKET.connack)
    const answers: number[] = []
    while (answers.length <= packets.length) answers.push((await hasty.next()).type)
    assert.equal(answers.filter((type) => type === PACKET.puback).length, packets.length)
    assert.ok(answers.includes(PACKET.suback))
    for (let i = 0; i < packets.length; i++) {
      const { payload, id } = readPublish(await reader.next(PACKET.publish))
      assert.equal(payload, `${i}`)
      reader.send(acknowledgement(PACKET.puback, id))
    }
  })

  test('[MQTT-3.1.4-5] are not handled if the client is rejected', async () => {
    const reader = await rawProgram(gateway)
    await reader.subscribe({ 'refused/#': 1 })
    const refused = await RawMqtt.open(gateway.mqtt)
    refused.send(
      connectPacket(await programFields(gateway, { password: 'wrong' })),
      publishPacket('refused/x', 'never'),
      publishPacket('refused/x', 'never', { qos: 0 }),
    )
    assert.deepEqual([...(await refused.next(PACKET.connack)).body], [0, 4])
    assert.equal(await refused.nextOrClosed(), null)
    await (await rawProgram(gateway)).publish('refused/y', 'after')
    assert.equal(readPublish(await reader.next(PACKET.publish)).payload, 'after')
  })
})

describe('the last will', () => {
  for (const qos of [0, 1, 2]) {
    test(`[MQTT-3.1.2-8] [MQTT-3.1.2-9] of QoS ${qos} is published with it if the connection breaks`, async () => {
      const topic = `will/qos/${qos}`
      const watcher = await watcherOf(topic)
      const client = await rawProgram(gateway, { will: { topic, payload: 'gone', qos, isRetained: false } })
      client.destroy()
      const message = readPublish(await watcher.next(PACKET.publish))
      assert.deepEqual([message.payload, message.qos, message.isRetained], ['gone', qos, false])
    })
  }

  test('[MQTT-3.1.2-10] is published once, and again for the next connection of the session', async () => {
    const topic = 'will/again'
    const watcher = await watcherOf(topic)
    for (const qos of [1, 2, 2, 2]) {
      const will = { topic, payload: `${qos}`, qos, isRetained: false }
      const client = await rawProgram(gateway, { clientId: 'mortal', clean: false, will })
      client.destroy()
      const { id, payload } = readPublish(await watcher.next(PACKET.publish))
      assert.equal(payload, `${qos}`)
      watcher.send(acknowledgement(qos === 1 ? PACKET.puback : PACKET.pubrec, id))
      await eventually(async () => {
        const again = await rawProgram(gateway, { clientId: 'mortal', clean: false })
        again.send(DISCONNECT)
        await again.closed()
        return true
      }, 'taken up without a will')
    }
    const repeated = (await watcher.flush()).filter(({ type }) => type === PACKET.publish)
    assert.deepEqual(repeated, [])
  })

  test('[MQTT-3.14.4-3] is discarded by DISCONNECT', async () => {
    const topic = 'will/discarded'
    const watcher = await watcherOf(topic)
    for (const clean of [true, false]) {
      const will = { topic, payload: 'never', isRetained: false }
      const client = await rawProgram(gateway, { clientId: 'polite', clean, will })
      client.send(DISCONNECT)
      await client.closed()
    }
    await (await rawProgram(gateway)).publish(topic, 'after')
    assert.equal(readPublish(await watcher.next(PACKET.publish)).payload, 'after')
  })

  test('[MQTT-3.1.2-12] is not published if the connection has none, even if an earlier one had', async () => {
    const topic = 'will/none'
    const watcher = await watcherOf(topic)
    const will = { topic, payload: 'never', isRetained: false }
    const older = await rawProgram(gateway, { clientId: 'reformed', clean: false, will })
    older.send(DISCONNECT)
    await older.closed()
    const newer = await rawProgram(gateway, { clientId: 'reformed', clean: false })
    newer.destroy()
    await (await rawProgram(gateway)).publish(topic, 'after')
    assert.equal(readPublish(await watcher.next(PACKET.publish)).payload, 'after')
  })

  test('[MQTT-3.1.2-16] [MQTT-3.1.2-17] is retained only if its flag is set', async () => {
    for (const isRetained of [false, true]) {
      const topic = `will/retained/${isRetained}`
      const watcher = await watcherOf(topic)
      const client = await rawProgram(gateway, { will: { topic, payload: 'gone', isRetained } })
      client.destroy()
      // connected subscribers receive it as a normal message
      assert.equal(readPublish(await watcher.next(PACKET.publish)).isRetained, false)
      const late = await rawProgram(gateway)
      await late.subscribe({ 'will/retained/#': 1 })
      const last = 'will/retained/z'
      await (await rawProgram(gateway)).publish(last, 'mark')
      const first = readPublish(await late.next(PACKET.publish))
      assert.equal(first.topic, isRetained ? topic : last)
      assert.equal(first.isRetained, isRetained)
    }
  })

  test('on a topic that forbids publishing is rejected', async () => {
    for (const topic of ['', 'a/+', 'a/#', '#', 'a/'.repeat(200)])
      await assertRefused({ will: { topic, payload: '' } }, 5)
  })
})

describe('DISCONNECT', () => {
  test('[MQTT-3.14.1-1] with reserved bits is a violation, and the will is published', async () => {
    const topic = 'will/reserved'
    const watcher = await watcherOf(topic)
    for (const bits of [1, 2, 4, 8]) {
      const client = await rawProgram(gateway, { will: { topic, payload: `${bits}`, isRetained: false } })
      client.send(Buffer.from([0xe0 | bits, 0]))
      await client.closed()
      const { payload, id } = readPublish(await watcher.next(PACKET.publish))
      assert.equal(payload, `${bits}`)
      watcher.send(acknowledgement(PACKET.puback, id))
    }
  })

  test('[MQTT-3.14.4-1] makes the server close the connection', async () => {
    const client = await rawProgram(gateway)
    client.send(DISCONNECT)
    assert.equal(await client.nextOrClosed(), null)
  })

  test('[MQTT-3.14.4-2] makes the server ignore later packets', async () => {
    const reader = await rawProgram(gateway)
    await reader.subscribe({ 'afterlife/#': 1 })
    const client = await rawProgram(gateway)
    client.send(DISCONNECT, publishPacket('afterlife/x', 'never', { qos: 0 }), publishPacket('afterlife/x', 'n'))
    await client.closed()
    await (await rawProgram(gateway)).publish('afterlife/y', 'after')
    assert.equal(readPublish(await reader.next(PACKET.publish)).payload, 'after')
  })
})

describe('malformed packets close the connection', () => {
  test('[MQTT-2.2.2-1] [MQTT-2.2.2-2] [MQTT-3.6.1-1] [MQTT-3.8.1-1] [MQTT-3.10.1-1] reserved flags', async () => {
    const packets = [
      ...[PACKET.puback, PACKET.pubrec, PACKET.pubrel, PACKET.pubcomp].map((type) => acknowledgement(type, 1)),
      subscribePacket({ x: 0 }),
      unsubscribePacket(['x']),
      PINGREQ,
      DISCONNECT,
    ]
    for (const packet of packets) {
      const [first = 0] = packet
      for (let flags = 0; flags < 16; flags++) {
        if (flags === (first & 15)) continue
        const client = await rawProgram(gateway)
        client.send(Buffer.from([(first & 0xf0) | flags]), packet.subarray(1))
        assert.equal(await client.nextOrClosed(), null, `first byte ${(first & 0xf0) | flags}`)
      }
    }
    const connect = connectPacket(await programFields(gateway))
    for (let flags = 1; flags < 16; flags++)
      await assertClosedUnanswered(Buffer.concat([Buffer.from([0x10 | flags]), connect.subarray(1)]))
  })

  test('[MQTT-4.8.0-1] server-only packets, reserved types and impossible lengths', async () => {
    for (const bytes of [
      [0x00, 0],
      [0xf0, 0],
      [0x20, 2, 0, 0],
      [0x90, 3, 0, 1, 0],
      [0xb0, 2, 0, 1],
      [0xd0, 0],
      // a remaining length of five bytes
      [0x30, 0x80, 0x80, 0x80, 0x80, 0x01],
      // a byte too many, a byte too few
      [0xc0, 1, 0],
      [0xe0, 1, 0],
      [0x40, 3, 0, 1, 0],
      [0x40, 1, 0],
      [0x62, 0],
      [0x30, 0],
      // a topic longer than its packet, a packet identifier beyond its end
      [0x30, 4, 0, 9, 0x61, 0x62],
      [0x32, 3, 0, 1, 0x61],
      // followed by bytes that must not be read as its rest
      [0x32, 3, 0, 1, 0x61, 0xc0, 0],
      [0x40, 0, 0xc0, 0],
    ]) {
      const client = await rawProgram(gateway)
      client.send(Buffer.from(bytes))
      // an incomplete packet waits for its rest; here none is incomplete
      assert.equal(await client.nextOrClosed(), null, `${bytes}`)
    }
  })

  test('[MQTT-2.3.1-1] packet identifier 0', async () => {
    for (const packet of [
      publishPacket('zero', 'x', { qos: 1, id: 0 }),
      publishPacket('zero', 'x', { qos: 2, id: 0 }),
      subscribePacket({ zero: 0 }, 0),
      unsubscribePacket(['zero'], 0),
      acknowledgement(PACKET.pubrel, 0),
    ]) {
      const client = await rawProgram(gateway)
      client.send(packet)
      assert.equal(await client.nextOrClosed(), null)
    }
  })
})
