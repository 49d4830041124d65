import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { Duplex, duplexPair } from 'node:stream'
import { after, before, describe, mock, type TestContext, test } from 'node:test'
import { WebSocket } from 'ws'
import { eventually } from '#shared/testing/eventually.ts'
import { HeldDisk } from '#testing/held-disk.ts'
import {
  connectPacket,
  PACKET,
  publishPacket,
  type RawPacket,
  readPublish,
  subscribePacket,
} from '#testing/mqtt-packets.ts'
import { connectTo, createJournal, OpenBroker, startBroker } from '#testing/open-broker.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'
import type { Broker } from './broker.ts'
import type { SessionJournal } from './mqtt-sessions/sessions.ts'

const REFUSED = 'cartbarn_mqtt_refused_total'

let gateway: TestGateway
let count = 0

before(async () => {
  gateway = await startGateway()
})
after(() => gateway.stop())

/** Registers a device for a test. */
async function newDevice(): Promise<{ hardwareId: string; password: string }> {
  const hardwareId = `cart-${++count}`
  return { hardwareId, password: await gateway.register(hardwareId) }
}

function addressOf(transport: string): string {
  return transport === 'tcp' ? gateway.mqtt : `${gateway.http.replace('http', 'ws')}/mqtt`
}

async function loggedIn(
  device: { hardwareId: string; password: string },
  options: Partial<Parameters<typeof connectPacket>[0]> & { transport?: string } = {},
): Promise<RawMqtt> {
  const { transport = 'tcp', ...fields } = options
  const client = await RawMqtt.open(addressOf(transport))
  const { hardwareId, password } = device
  assert.equal(await client.login({ clientId: hardwareId, username: hardwareId, password, ...fields }), 0)
  return client
}

async function subscribed(client: RawMqtt, filters: Record<string, number>): Promise<number[]> {
  client.send(subscribePacket(filters))
  return [...(await client.next(PACKET.suback)).body.subarray(2)]
}

async function isOnline(hardwareId: string): Promise<boolean> {
  return (await gateway.request('GET', `/devices/${hardwareId}`)).body.is_online
}

for (const transport of ['tcp', 'ws']) {
  describe(`login over ${transport}`, () => {
    const loginWith = async (fields: Parameters<typeof connectPacket>[0]): Promise<number | null> => {
      const client = await RawMqtt.open(addressOf(transport))
      const code = await client.login(fields)
      if (code !== 0) await client.closed()
      client.destroy()
      return code
    }

    test('the right password is accepted', async () => {
      const { hardwareId, password } = await newDevice()
      assert.equal(await loginWith({ clientId: hardwareId, username: hardwareId, password }), 0)
    })

    test('MQTT 3.1 works', async () => {
      const { hardwareId, password } = await newDevice()
      assert.equal(await loginWith({ clientId: hardwareId, username: hardwareId, password, level: 3 }), 0)
    })

    test('a wrong or an empty password gets return code 4 and is counted', async () => {
      const { hardwareId } = await newDevice()
      const refused = await metric(gateway, REFUSED, 'bad_credentials')
      for (const password of ['wrong', '', ' ']) {
        assert.equal(await loginWith({ clientId: hardwareId, username: hardwareId, password }), 4)
      }
      assert.equal(await metric(gateway, REFUSED, 'bad_credentials'), refused + 3)
    })

    test('an unknown device gets return code 4 and is counted', async () => {
      const refused = await metric(gateway, REFUSED, 'unknown_device')
      for (const name of ['nobody', 'constructor', '__proto__', '']) {
        assert.equal(await loginWith({ clientId: name || 'x', username: name, password: 'secret' }), 4)
      }
      assert.equal(await metric(gateway, REFUSED, 'unknown_device'), refused + 4)
    })

    test('no credentials get return code 4', async () => {
      const { hardwareId } = await newDevice()
      assert.equal(await loginWith({ clientId: hardwareId }), 4)
      assert.equal(await loginWith({ clientId: hardwareId, username: hardwareId }), 4)
    })

    test('a client id that is not the user name gets return code 2', async () => {
      const { hardwareId, password } = await newDevice()
      const refused = await metric(gateway, REFUSED, 'client_id_mismatch')
      assert.equal(await loginWith({ clientId: 'other', username: hardwareId, password }), 2)
      assert.equal(await loginWith({ clientId: hardwareId.toUpperCase(), username: hardwareId, password }), 2)
      assert.equal(await metric(gateway, REFUSED, 'client_id_mismatch'), refused + 2)
    })

    test('an MQTT 5 CONNECT gets return code 1', async () => {
      const { hardwareId, password } = await newDevice()
      assert.equal(await loginWith({ clientId: hardwareId, username: hardwareId, password, level: 5 }), 1)
    })

    test('after a rotation only the new password is accepted, and the open connection is closed', async () => {
      const device = await newDevice()
      const { hardwareId, password } = device
      const open = await loggedIn(device, { transport })
      const { body } = await gateway.request('POST', `/devices/${hardwareId}/rotate-mqtt-password`)
      open.send(publishPacket(`dev/${hardwareId}/tlm`, '{"speed":1}'))
      assert.equal(await open.nextOrClosed(), null)
      assert.equal(await loginWith({ clientId: hardwareId, username: hardwareId, password }), 4)
      const renewed = { clientId: hardwareId, username: hardwareId, password: body.mqtt.password }
      assert.equal(await loginWith(renewed), 0)
    })
  })
}

test('a deleted device is disconnected and cannot log in again', async () => {
  const device = await newDevice()
  const client = await loggedIn(device)
  await gateway.request('DELETE', `/devices/${device.hardwareId}`)
  await client.closed()
  const again = await RawMqtt.open(gateway.mqtt)
  assert.equal(
    await again.login({
      clientId: device.hardwareId,
      username: device.hardwareId,
      password: device.password,
    }),
    4,
  )
})

test('over WebSocket the sub-protocol mqtt is required and confirmed', async () => {
  const url = addressOf('ws')
  const good = new WebSocket(url, ['other', 'mqtt'])
  await once(good, 'open')
  assert.equal(good.protocol, 'mqtt')
  good.terminate()
  for (const protocols of [[], ['other'], ['mqttv3.1']]) {
    const socket = new WebSocket(url, protocols)
    const outcome = await Promise.race([once(socket, 'error'), once(socket, 'open')]).catch((error) => error)
    assert.match(String(outcome), /Unexpected server response: 400/)
  }
})

describe('what a device may publish', () => {
  test('each of its own uplinks is acknowledged, at every quality of service', async () => {
    const device = await newDevice()
    const client = await loggedIn(device)
    const payloads = {
      tlm: '{"speed":1}',
      evt: '{"event":"lock","source":"key"}',
      st: '{"online":true}',
      ack: '{"cfg":1}',
      tq: '{"up":1}',
    }
    let id = 0
    for (const [level, payload] of Object.entries(payloads)) {
      const topic = `dev/${device.hardwareId}/${level}`
      client.send(publishPacket(topic, payload, { qos: 0 }))
      client.send(publishPacket(topic, payload, { id: ++id }))
      assert.equal((await client.next(PACKET.puback)).body.readUInt16BE(), id)
      client.send(publishPacket(topic, payload, { qos: 2, id: ++id }))
      assert.equal((await client.next(PACKET.pubrec)).body.readUInt16BE(), id)
      client.send(Buffer.from([0x62, 2, 0, id]))
      assert.equal((await client.next(PACKET.pubcomp)).body.readUInt16BE(), id)
    }
    client.destroy()
  })

  for (const topic of [
    'dev/another/tlm',
    'dev/ME/xyz',
    'dev/ME/cmd',
    'dev/ME/cfg',
    'dev/ME/ta',
    'dev/ME',
    'dev/ME/tlm/more',
    'dev/ME/',
    '/dev/ME/tlm',
    'DEV/ME/tlm',
    'dev/ME/TLM',
    'sit/1/sz',
    'elsewhere',
    '$SYS/broker',
    '$share/x/dev/ME/tlm',
  ]) {
    test(`${topic} ends its connection and is counted`, async () => {
      const device = await newDevice()
      const refused = await metric(gateway, REFUSED, 'topic_not_writable')
      for (const qos of [0, 1, 2]) {
        const client = await loggedIn(device)
        client.send(publishPacket(topic.replace('ME', device.hardwareId), '{"speed":1}', { qos }))
        assert.equal(await client.nextOrClosed(), null)
      }
      assert.equal(await metric(gateway, REFUSED, 'topic_not_writable'), refused + 3)
    })
  }

  for (const topic of ['dev/+/tlm', 'dev/ME/#', '#', '+', '', 'dev/ME/tlm\u0000']) {
    test(`the topic ${JSON.stringify(topic)} ends its connection and is counted`, async () => {
      const device = await newDevice()
      const before = await refusals()
      const client = await loggedIn(device)
      client.send(publishPacket(topic.replace('ME', device.hardwareId), '{"speed":1}'))
      assert.equal(await client.nextOrClosed(), null)
      assert.ok((await refusals()) > before)
    })
  }

  test('a topic of more than twelve levels ends the connection', async () => {
    const client = await loggedIn(await newDevice())
    client.send(publishPacket('a/'.repeat(60), 'x'))
    assert.equal(await client.nextOrClosed(), null)
  })
})

async function refusals(): Promise<number> {
  const { body } = await gateway.request('GET', '/metrics')
  const lines: string[] = body.split('\n').filter((line: string) => line.startsWith(`${REFUSED}{`))
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

describe('what a device may read', () => {
  test('its own cmd, cfg and ta topics are granted', async () => {
    const device = await newDevice()
    const client = await loggedIn(device)
    const own = `dev/${device.hardwareId}`
    assert.deepEqual(await subscribed(client, { [`${own}/cmd`]: 1, [`${own}/cfg`]: 1, [`${own}/ta`]: 0 }), [1, 1, 0])
    client.destroy()
  })

  test('all other topics get 128, and the connection stays', async () => {
    const device = await newDevice()
    const client = await loggedIn(device)
    const own = `dev/${device.hardwareId}`
    const filters = [
      `${own}/tlm`,
      `${own}/evt`,
      `${own}/st`,
      `${own}/+`,
      `${own}/#`,
      own,
      'dev/another/cmd',
      'dev/+/cmd',
      '#',
      '+',
      '+/+/cmd',
      '$SYS/#',
      '$SYS/+/new/clients',
      'sit/1/sz',
      `$share/g/${own}/cmd`,
    ]
    const refused = await metric(gateway, REFUSED, 'topic_not_readable')
    for (const filter of filters) assert.deepEqual(await subscribed(client, { [filter]: 1 }), [128], filter)
    assert.equal(await metric(gateway, REFUSED, 'topic_not_readable'), refused + filters.length)
    client.destroy()
  })

  test('a SUBSCRIBE of mixed topics grants only the allowed ones, also after a reconnect', async () => {
    const [device, other] = [await newDevice(), await newDevice()]
    const mine = `dev/${device.hardwareId}`
    const theirs = `dev/${other.hardwareId}`
    let client = await loggedIn(device, { clean: false })
    assert.deepEqual(
      await subscribed(client, { [`${theirs}/ta`]: 0, [`${mine}/ta`]: 0, '#': 0, [`${mine}/cmd`]: 1 }),
      [128, 0, 128, 1],
    )
    const neighbour = await loggedIn(other)
    for (let round = 0; round < 2; round++) {
      neighbour.send(publishPacket(`${theirs}/tq`, '{"up":1}', { qos: 0 }))
      await neighbour.flush()
      client.send(publishPacket(`${mine}/tq`, '{"up":2}', { qos: 0 }))
      const { topic, payload } = readPublish(await client.next(PACKET.publish))
      assert.equal(topic, `${mine}/ta`)
      assert.equal(JSON.parse(payload).up, 2)
      assert.deepEqual(await client.flush(), [])
      client.destroy()
      client = await loggedIn(device, { clean: false })
    }
    client.destroy()
    neighbour.destroy()
  })
})

describe('the last will', () => {
  test('stays that of the newest connection, if a slow disk delays the end of the one before', async (t) => {
    const disk = createJournal(new HeldDisk())
    let storeFirst: (() => void) | undefined
    const journal: SessionJournal = {
      load: () => disk.load(),
      append: (changes, onStored, onRefused) => {
        const isFirst = storeFirst === undefined && changes.some(({ kind }) => kind === 'willed')
        if (isFirst) storeFirst = onStored
        else disk.append(changes, onStored, onRefused)
      },
    }
    const { url, broker } = await startBroker(t, { journal })
    const watcher = await connectTo({ url }, 'watcher')
    watcher.send(subscribePacket({ wills: 0 }))
    await watcher.next(PACKET.suback)
    const willOf = () => Buffer.from(broker.sessions.wills.get('program')?.message.payload ?? '').toString()
    const first = await RawMqtt.open(url)
    first.send(connectPacket({ clientId: 'program', will: { topic: 'wills', payload: 'first' } }))
    await eventually(() => storeFirst !== undefined, 'the will of the first is not stored yet')
    const second = await RawMqtt.open(url)
    assert.equal(await second.login({ clientId: 'program', will: { topic: 'wills', payload: 'second' } }), 0)
    first.destroy()
    assert.equal(readPublish(await watcher.next(PACKET.publish)).payload.toString(), 'first')
    assert.equal(willOf(), 'second')
    storeFirst?.()
    second.destroy()
    assert.equal(readPublish(await watcher.next(PACKET.publish)).payload.toString(), 'second')
    await eventually(() => !broker.sessions.wills.has('program'), 'published')
  })

  test('is published as the status of the device when its connection breaks', async () => {
    const device = await newDevice()
    const topic = `dev/${device.hardwareId}/st`
    const client = await loggedIn(device, { will: { topic, payload: 'not JSON' } })
    client.destroy()
    await eventually(async () => {
      const { body } = await gateway.request('GET', '/mqtt/quarantine')
      return body.some((entry: { topic: string }) => entry.topic === topic)
    }, 'the will in the quarantine, for it cannot be read')
  })

  test('is not published after a DISCONNECT', async () => {
    const device = await newDevice()
    const topic = `dev/${device.hardwareId}/st`
    const client = await loggedIn(device, { will: { topic, payload: 'not JSON' } })
    client.send(Buffer.from([0xe0, 0]))
    await client.closed()
    const { body } = await gateway.request('GET', `/devices/${device.hardwareId}/details`)
    assert.deepEqual(body.dropped, {})
  })

  for (const topic of ['dev/ME/tlm', 'dev/another/st', 'dev/ME/cmd', '$SYS/x', 'dev/+/st', 'elsewhere']) {
    test(`on ${topic} makes the CONNECT fail and is counted`, async () => {
      const { hardwareId, password } = await newDevice()
      const refused = await metric(gateway, REFUSED, 'will_not_writable')
      const client = await RawMqtt.open(gateway.mqtt)
      const will = { topic: topic.replace('ME', hardwareId), payload: '{}' }
      assert.equal(await client.login({ clientId: hardwareId, username: hardwareId, password, will }), 5)
      assert.equal(await metric(gateway, REFUSED, 'will_not_writable'), refused + 1)
    })
  }
})

describe('a second connection of the same device', () => {
  test('replaces the first and stays online, despite the will of the first', async () => {
    const device = await newDevice()
    const watcher = await gateway.realtime()
    await watcher.subscribe(device.hardwareId)
    const will = { topic: `dev/${device.hardwareId}/st`, payload: '{"online":false}' }
    const first = await loggedIn(device, { will })
    const second = await loggedIn(device, { will })
    await first.closed()
    second.send(publishPacket(will.topic, '{"online":true,"fw":"2"}'))
    await second.next(PACKET.puback)
    assert.equal(await isOnline(device.hardwareId), true)
    const { body } = await gateway.request('GET', `/devices/${device.hardwareId}/details`)
    assert.equal(body.status.fw, '2')
    const statuses = (await watcher.flush()).filter(({ type }) => type === 'device_status')
    assert.deepEqual(statuses.at(-1)?.payload ?? { is_online: true }, { is_online: true })
    // the will of the second connection is still valid
    second.destroy()
    assert.deepEqual((await watcher.next('device_status')).payload, { is_online: false })
  })

  test('leaves exactly one of a hundred concurrent connections, which works', async () => {
    const device = await newDevice()
    const connected = await metric(gateway, 'cartbarn_mqtt_clients')
    const { hardwareId, password } = device
    const packet = connectPacket({ clientId: hardwareId, username: hardwareId, password })
    const clients = await Promise.all(Array.from({ length: 100 }, () => RawMqtt.open(gateway.mqtt)))
    for (const client of clients) client.send(packet)
    await eventually(() => clients.filter(({ isClosed }) => !isClosed).length <= 1, 'all but one closed')
    const [last] = clients.filter(({ isClosed }) => !isClosed)
    assert.ok(last !== undefined, 'one is left')
    last.send(publishPacket(`dev/${hardwareId}/tlm`, '{"speed":1}'))
    await last.next(PACKET.puback)
    assert.equal(await metric(gateway, 'cartbarn_mqtt_clients'), connected + 1)
    assert.equal(await isOnline(hardwareId), true)
    last.destroy()
    await eventually(async () => !(await isOnline(hardwareId)), 'offline')
    assert.equal(await metric(gateway, 'cartbarn_mqtt_clients'), connected)
  })
})

for (const transport of ['tcp', 'ws']) {
  describe(`sizes over ${transport}`, () => {
    const LIMIT = 65_536
    const padded = (bytes: number) => '{"speed":1}'.padEnd(bytes)

    test('a payload of exactly 64 KiB is accepted', async () => {
      const device = await newDevice()
      const client = await loggedIn(device, { transport })
      client.send(publishPacket(`dev/${device.hardwareId}/tlm`, padded(LIMIT)))
      await client.next(PACKET.puback)
      client.destroy()
    })

    test('one byte more closes the connection', async () => {
      const device = await newDevice()
      const refused = await metric(gateway, REFUSED, 'packet_too_large')
      const client = await loggedIn(device, { transport })
      client.send(publishPacket(`dev/${device.hardwareId}/tlm`, padded(LIMIT + 1)))
      assert.equal(await client.nextOrClosed(), null)
      assert.equal(await metric(gateway, REFUSED, 'packet_too_large'), refused + 1)
      const { body } = await gateway.request('GET', `/devices/${device.hardwareId}`)
      assert.deepEqual(body.attributes, {})
    })

    test('a packet that announces 256 MB is rejected at its header', async () => {
      const refused = await metric(gateway, REFUSED, 'packet_too_large')
      const header = [0xff, 0xff, 0xff, 0x7f]
      const stranger = await RawMqtt.open(addressOf(transport))
      stranger.send(Buffer.from([0x10, ...header]))
      await stranger.closed()
      const client = await loggedIn(await newDevice(), { transport })
      client.send(Buffer.from([0x32, ...header]))
      await client.closed()
      assert.equal(await metric(gateway, REFUSED, 'packet_too_large'), refused + 2)
    })
  })
}

test('concurrent messages are all delivered: every time request gets its response', async () => {
  const device = await newDevice()
  const client = await loggedIn(device)
  const own = `dev/${device.hardwareId}`
  await subscribed(client, { [`${own}/ta`]: 0, [`${own}/cmd`]: 1 })
  const asked = Array.from({ length: 500 }, (_, up) => up)
  client.send(
    ...asked.flatMap((up) => [
      publishPacket(`${own}/tlm`, `{"speed":${up % 100}}`, { id: up + 1 }),
      publishPacket(`${own}/tq`, `{"up":${up}}`, { qos: 0 }),
    ]),
  )
  const packets: RawPacket[] = []
  while (packets.length < 2 * asked.length) packets.push(await client.next())
  const answers = packets.filter(({ type }) => type === PACKET.publish).map(readPublish)
  assert.deepEqual(
    answers.map(({ payload }) => JSON.parse(payload).up),
    asked,
  )
  const acknowledged = packets.filter(({ type }) => type === PACKET.puback).map((p) => p.body.readUInt16BE())
  assert.deepEqual(
    acknowledged,
    asked.map((up) => up + 1),
  )
  client.destroy()
})

/** Starts a broker where all clients may read and publish anything, for tests of sockets only. */
async function openBroker(
  t: TestContext,
  append: SessionJournal['append'] = (_changes, onStored) => onStored(),
): Promise<Broker<object>> {
  const load = () => ({ sessions: [], subscriptions: [], queued: [], received: [], retained: [], wills: [] })
  const opened = await OpenBroker.start({ journal: { load, append } })
  t.after(async () => {
    mock.timers.reset()
    await opened.stop()
  })
  return opened.broker
}

/** Stream that accepts writes until it is frozen. */
class FreezableStream extends Duplex {
  isFrozen = false

  override _read(): void {}

  override _write(_chunk: Buffer, _encoding: string, done: () => void): void {
    if (!this.isFrozen) done()
  }
}

test('a subscriber that stops reading delays no other, and its backlog is bounded', async (t) => {
  const broker = await openBroker(t)
  const frozen = new FreezableStream()
  const [near, far] = duplexPair()
  broker.handle(frozen, 'frozen')
  broker.handle(far, 'healthy')
  const healthy = new RawMqtt(near)
  frozen.push(Buffer.concat([connectPacket({ clientId: 'frozen' }), subscribePacket({ news: 0 })]))
  await healthy.login({ clientId: 'healthy' })
  await subscribed(healthy, { news: 0 })
  frozen.isFrozen = true
  const payload = 'x'.repeat(1000)
  for (let i = 0; i < 2000; i++) {
    broker.publish('news', `${i} ${payload}`)
    if (i % 50 === 0) await new Promise(setImmediate)
  }
  for (let i = 0; i < 2000; i++) {
    assert.equal(readPublish(await healthy.next(PACKET.publish)).payload, `${i} ${payload}`)
  }
  const skipped = broker.refusals.counts.get('slow_reader_skipped')
  assert.ok(skipped > 1500, `${skipped} skipped`)
  assert.ok(frozen.writableLength < 200_000, `${frozen.writableLength} bytes wait`)
})

test('a client that keeps sending requests without reading responses is disconnected', async (t) => {
  const broker = await openBroker(t)
  const frozen = new FreezableStream()
  broker.handle(frozen, 'frozen')
  frozen.push(connectPacket({ clientId: 'frozen' }))
  await eventually(() => broker.connectedClients === 1, 'connected')
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
  frozen.isFrozen = true
  const pings = Buffer.alloc(65_536, Buffer.from([0xc0, 0]))
  for (let i = 0; i < 40 && !frozen.destroyed; i++) {
    frozen.push(pings)
    await new Promise(setImmediate)
  }
  await eventually(() => frozen.destroyed, 'cut off')
  assert.equal(broker.refusals.counts.get('slow_reader_cut'), 1)
  assert.ok(frozen.writableLength < 400_000, `${frozen.writableLength} bytes wait`)
})

test('packets sent directly after CONNECT, in the same or another chunk, are handled after CONNACK', async (t) => {
  const broker = await openBroker(t)
  const packets = [
    subscribePacket({ news: 1 }, 1),
    publishPacket('other', 'x', { id: 2 }),
    Buffer.from([0x62, 2, 0, 3]),
    Buffer.from([0xc0, 0]),
  ]
  for (const isOneChunk of [true, false]) {
    const [near, far] = duplexPair()
    broker.handle(far, 'test')
    const client = new RawMqtt(near)
    client.send(connectPacket({ clientId: 'hasty' }), ...(isOneChunk ? packets : []))
    // Aedes has read CONNECT and authenticates in a later event-loop tick
    if (!isOneChunk) far.once('readable', () => client.send(...packets))
    const answers: RawPacket[] = []
    while (answers.length < 1 + packets.length) answers.push(await client.next())
    const { connack, suback, puback, pubcomp, pingresp } = PACKET
    assert.equal(answers[0]?.type, connack)
    const types = new Set(answers.map(({ type }) => type))
    assert.deepEqual(types, new Set([connack, suback, puback, pubcomp, pingresp]))
    assert.equal(answers.find(({ type }) => type === suback)?.body[2], 1, 'granted')
    client.destroy()
  }
})

test('a connection that ends while its last will is being stored leaves nothing behind', async (t) => {
  const held: (() => void)[] = []
  const kinds: string[] = []
  const broker = await openBroker(t, (changes, onStored) => {
    kinds.push(...changes.map(({ kind }) => kind))
    held.push(onStored)
  })
  const login = { clientId: 'hasty', will: { topic: 'last', payload: 'words' } }
  const [near, far] = duplexPair()
  broker.handle(far, 'test')
  near.write(connectPacket(login))
  await eventually(() => kinds.includes('willed'), 'the will on its way')
  far.destroy()
  await eventually(() => kinds.includes('unwilled'), 'the will published')
  for (const onStored of held.splice(0)) onStored()
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
  assert.equal(broker.connectedClients, 0)
  assert.equal(broker.sessions.wills.size, 0)

  const [again, farAgain] = duplexPair()
  broker.handle(farAgain, 'test')
  again.write(connectPacket(login))
  await eventually(() => held.splice(0).map((onStored) => onStored()).length > 0, 'the next will written')
  await eventually(() => broker.connectedClients === 1, 'the next one connected')
})

describe('a silent connection', () => {
  for (const [what, bytes] of [
    ['nothing', Buffer.alloc(0)],
    ['half a CONNECT', connectPacket({ clientId: 'late' }).subarray(0, 9)],
  ] as const) {
    test(`is closed after ten to twelve seconds: ${what}`, async (t) => {
      const broker = await openBroker(t)
      const server = createServer((socket) => broker.handle(socket, 'test'))
      t.after(() => server.close())
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const address = server.address()
      assert.ok(typeof address === 'object' && address !== null)
      // the clock of the broker only; sockets are not affected
      mock.timers.enable({ apis: ['setTimeout'] })
      const accepted = once(server, 'connection')
      const client = await RawMqtt.open(`mqtt://127.0.0.1:${address.port}`)
      await accepted
      client.send(bytes)
      mock.timers.tick(9_999)
      for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
      assert.equal(client.isClosed, false)
      mock.timers.tick(2_001)
      await once(client.stream, 'close')
      assert.equal(broker.refusals.counts.get('connect_timeout'), 1)
    })
  }

  test('[MQTT-3.1.2-24] is closed after its login at 1.5 times its keepalive, at least 5 s', async (t) => {
    const broker = await openBroker(t)
    const [near, far] = duplexPair()
    mock.timers.enable({ apis: ['setTimeout'] })
    broker.handle(far, 'test')
    const client = new RawMqtt(near)
    client.send(connectPacket({ clientId: 'sleepy', keepaliveS: 1 }))
    await eventually(() => broker.connectedClients === 1, 'connected')
    mock.timers.tick(7_000)
    assert.equal(broker.connectedClients, 1)
    mock.timers.tick(1_000)
    await eventually(() => broker.connectedClients === 0, 'closed')
    assert.equal(broker.refusals.counts.get('keepalive_timeout'), 1)
  })
})

test('a client whose session is removed during a new login is closed and may log in again', async (t) => {
  const held: (() => void)[] = []
  let isHeld = false
  const broker = await openBroker(t, (_changes, onStored) => {
    if (isHeld) held.push(onStored)
    else onStored()
  })
  const open = () => {
    const [near, far] = duplexPair()
    broker.handle(far, 'test')
    return new RawMqtt(near)
  }
  const login = { clientId: 'sleeper', clean: false }
  const first = open()
  assert.equal(await first.login(login), 0)
  first.destroy()
  await eventually(() => broker.connectedClients === 0, 'away')
  isHeld = true
  const second = open()
  second.send(connectPacket({ ...login, will: { topic: 'status', payload: 'gone' } }))
  await eventually(() => held.length === 1, 'its last will on the way to the disk')
  const removed = broker.removeClient('sleeper')
  await eventually(() => held.length === 2, 'and so the end of its session')
  isHeld = false
  for (const onStored of held) onStored()
  assert.deepEqual(await removed, { isClosed: false, isSessionDiscarded: true })
  assert.equal(await second.nextOrClosed(), null)
  const third = open()
  assert.equal(await third.login(login), 0)
  await subscribed(third, { news: 1 })
  third.send(publishPacket('news', 'hello'))
  assert.equal(readPublish(await third.next(PACKET.publish)).payload, 'hello')
})

describe('a revoked login', () => {
  const REVOKED: [what: string, path: (hardwareId: string) => [string, string]][] = [
    ['a rotated password', (id) => ['POST', `/devices/${id}/rotate-mqtt-password`]],
    ['a deleted device', (id) => ['DELETE', `/devices/${id}`]],
  ]
  for (const [what, request] of REVOKED) {
    test(`leaves no stored session after ${what}, also after a restart`, async () => {
      const device = await newDevice()
      const { hardwareId } = device
      const before = await loggedIn(device, { clean: false })
      await subscribed(before, { [`dev/${hardwareId}/ta`]: 1 })
      const { status } = await gateway.request(...request(hardwareId))
      assert.equal(status, 200)
      await before.closed()
      assert.equal((await gateway.request('DELETE', `/mqtt/clients/${hardwareId}`)).status, 404)
      await gateway.restart()
      assert.equal((await gateway.request('DELETE', `/mqtt/clients/${hardwareId}`)).status, 404)
    })

    test(`leaves no connection whose login waits for its predecessor to close, after ${what}`, async () => {
      const device = await newDevice()
      const { hardwareId, password } = device
      const login = connectPacket({ clientId: hardwareId, username: hardwareId, password })
      const clients = [await loggedIn(device)]
      const revoked = gateway.request(...request(hardwareId))
      // each takes over from the one before: some are still doing so when the password is revoked
      for (let i = 0; i < 20; i++) {
        const client = await RawMqtt.open(gateway.mqtt)
        client.send(login)
        clients.push(client)
      }
      await revoked
      for (const client of clients) await client.closed()
    })
  }
})
