import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  connectPacket,
  PACKET,
  publishPacket,
  type RawPacket,
  readPublish,
  subscribePacket,
} from '#testing/mqtt-packets.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'

let gateway: TestGateway
let admin: User
let count = 0

before(async () => {
  gateway = await startGateway()
  admin = { userId: await gateway.adminId(), key: ADMIN_KEY }
})
after(() => gateway.stop())

interface User {
  userId: string
  key: string
}

type Fields = Partial<Parameters<typeof connectPacket>[0]>

async function attempt(user: User, clientId: string, fields: Fields = {}) {
  const client = await RawMqtt.open(gateway.mqtt)
  const code = await client.login({ clientId, username: user.userId, password: user.key, ...fields })
  return { client, code }
}

async function connect(user: User, clientId: string, fields: Fields = {}): Promise<RawMqtt> {
  const { client, code } = await attempt(user, clientId, fields)
  assert.equal(code, 0)
  return client
}

async function newDevice(): Promise<{ hardwareId: string; user: User }> {
  const hardwareId = `cart-${++count}`
  return { hardwareId, user: { userId: hardwareId, key: await gateway.register(hardwareId) } }
}

async function subscribe(client: RawMqtt, filters: Record<string, number>): Promise<number[]> {
  client.send(subscribePacket(filters))
  return [...(await client.next(PACKET.suback)).body.subarray(2)]
}

async function send(user: User, topic: string, isRetained = false): Promise<void> {
  const client = await connect(user, user.userId)
  client.send(publishPacket(topic, '{"online":true}', { isRetained }))
  await client.next(PACKET.puback)
  client.destroy()
}

/** Returns the topics of received messages; acknowledges those of QoS 1. */
async function received(client: RawMqtt): Promise<string[]> {
  const packets = (await client.flush()).filter(({ type }) => type === PACKET.publish)
  for (const packet of packets) if ((packet.flags & 6) === 2) client.send(acknowledgement(packet))
  return packets.map((packet) => readPublish(packet).topic).sort()
}

function acknowledgement({ body }: RawPacket): Buffer {
  const at = 2 + body.readUInt16BE(0)
  return Buffer.concat([Buffer.from([0x40, 2]), body.subarray(at, at + 2)])
}

describe('a user with a scope', () => {
  for (const filter of ['#', 'dev/#', 'dev/+/st', '+/+/st', 'dev/IN/#']) {
    test(`subscribed to ${filter} gets messages in scope: live, retained and queued`, async () => {
      const [inside, outside] = [await newDevice(), await newDevice()]
      const topics = [`dev/${inside.hardwareId}/st`, `dev/${outside.hardwareId}/st`] as const
      const user = await gateway.createUser({ allowed_hardware_ids: [inside.hardwareId] })
      const clientId = `reader-${++count}`
      await send(inside.user, topics[0], true)
      await send(outside.user, topics[1], true)
      const reader = await connect(user, clientId, { clean: false })
      assert.deepEqual(await subscribe(reader, { [filter.replace('IN', inside.hardwareId)]: 1 }), [1])
      // not the retained configuration, which is for admins, as over HTTP
      assert.deepEqual(await received(reader), [topics[0]])
      await send(outside.user, topics[1])
      await send(inside.user, topics[0])
      assert.deepEqual(await received(reader), [topics[0]])
      reader.destroy()
      await reader.closed()
      await send(outside.user, topics[1])
      await send(inside.user, topics[0])
      const again = await connect(user, clientId, { clean: false })
      assert.deepEqual(await received(again), [topics[0]])
      again.destroy()
    })
  }

  test('cannot subscribe to a device out of scope, or to anything except devices', async () => {
    const { hardwareId } = await newDevice()
    const user = await gateway.createUser({ allowed_hardware_ids: [hardwareId] })
    const reader = await connect(user, `reader-${++count}`)
    const filters = { 'dev/other/st': 1, 'shop/x': 1, '$SYS/#': 0, [`dev/${hardwareId}/st`]: 1 }
    assert.deepEqual(await subscribe(reader, filters), [128, 128, 128, 1])
    reader.destroy()
  })

  for (const isAway of [true, false]) {
    test(`gets no messages of a device that left its scope while ${isAway ? 'away' : 'connected'}`, async () => {
      const [kept, lost] = [await newDevice(), await newDevice()]
      const user = await gateway.createUser({ allowed_hardware_ids: [kept.hardwareId, lost.hardwareId] })
      const clientId = `reader-${++count}`
      const reader = await connect(user, clientId, { clean: false })
      await subscribe(reader, { 'dev/+/st': 1 })
      if (isAway) {
        reader.destroy()
        await reader.closed()
        await send(lost.user, `dev/${lost.hardwareId}/st`)
        await send(kept.user, `dev/${kept.hardwareId}/st`)
      }
      const path = `/users/${user.userId}`
      await gateway.request('PATCH', path, { body: { allowed_hardware_ids: [kept.hardwareId] } })
      if (!isAway) {
        await send(lost.user, `dev/${lost.hardwareId}/st`)
        await send(kept.user, `dev/${kept.hardwareId}/st`)
      }
      const then = isAway ? await connect(user, clientId, { clean: false }) : reader
      assert.deepEqual(await received(then), [`dev/${kept.hardwareId}/st`])
      then.destroy()
    })
  }
})

describe('a window full of messages that may no longer be read', () => {
  for (const clean of [true, false]) {
    test(`holds up no readable messages (clean session ${Number(clean)})`, async (t) => {
      const narrow = await startGateway({ CARTBARN_MQTT_IN_FLIGHT: '2' })
      t.after(() => narrow.stop())
      const lostKey = await narrow.register('lost')
      const keptKey = await narrow.register('kept')
      const user = await narrow.createUser({ allowed_hardware_ids: ['lost', 'kept'] })
      const reader = await RawMqtt.open(narrow.mqtt)
      await reader.login({ clientId: 'reader', username: user.userId, password: user.key, clean })
      await subscribe(reader, { 'dev/+/st': 1 })
      const publish = async (hardwareId: string, password: string, times: number) => {
        const client = await narrow.connect(hardwareId, password)
        for (let i = 0; i < times; i++) await client.publishAsync(`dev/${hardwareId}/st`, '{}', { qos: 1 })
        await client.endAsync()
      }
      await publish('lost', lostKey, 4)
      await publish('kept', keptKey, 1)
      // two are in flight, and no more are sent
      assert.equal((await reader.flush()).length, 2)
      const body = { allowed_hardware_ids: ['kept'] }
      await narrow.request('PATCH', `/users/${user.userId}`, { body })
      assert.equal(readPublish(await reader.next(PACKET.publish)).topic, 'dev/kept/st')
      assert.deepEqual(await reader.flush(), [])
      reader.destroy()
    })
  }
})

describe('an open connection of a user ends, without a new login', () => {
  const CHANGES: [what: string, change: (user: User) => Promise<unknown>, kept: number][] = [
    ['its key is replaced', ({ userId }) => gateway.request('POST', `/users/${userId}/rotate-key`), 1],
    ['it is disabled', ({ userId }) => gateway.request('PATCH', `/users/${userId}`, { body: { is_active: false } }), 1],
    ['it is deleted', ({ userId }) => gateway.request('DELETE', `/users/${userId}`), 0],
  ]
  for (const [what, change, kept] of CHANGES) {
    test(`when ${what}; its session ${kept === 1 ? 'waits for the new key' : 'ends'}`, async () => {
      const user = await gateway.createUser({})
      const clientId = `user-${++count}`
      const client = await connect(user, clientId, { clean: false })
      await change(user)
      await client.closed()
      assert.equal((await attempt(user, clientId)).code, 4)
      const { body } = await gateway.request('GET', `/mqtt/clients?search=${clientId}`)
      assert.equal(body.clients.length, kept)
    })
  }

  test('when its key is replaced while its login waits for its predecessor to close', async () => {
    const user = await gateway.createUser({})
    const clients = [await connect(user, 'raced')]
    const rotated = gateway.request('POST', `/users/${user.userId}/rotate-key`)
    for (let i = 0; i < 8; i++) {
      const client = await RawMqtt.open(gateway.mqtt)
      client.send(connectPacket({ clientId: 'raced', username: user.userId, password: user.key }))
      clients.push(client)
    }
    await rotated
    for (const client of clients) await client.closed()
  })
})

describe('publishing', () => {
  test('is forbidden for a user who is not an admin', async () => {
    const { hardwareId } = await newDevice()
    const user = await gateway.createUser({ allowed_hardware_ids: [hardwareId] })
    for (const topic of [`dev/${hardwareId}/tlm`, `dev/${hardwareId}/cmd`, 'shop/x']) {
      const client = await connect(user, `user-${++count}`)
      client.send(publishPacket(topic, '{}'))
      assert.equal(await client.nextOrClosed(), null, topic)
    }
  })

  for (const topic of ['dev/x/tlm', 'dev/x/cmd', 'dev/', 'sit/1/sz', '$SYS/x', '$x']) {
    test(`to ${topic} is forbidden for an admin too`, async () => {
      const client = await connect(admin, `admin-${++count}`)
      client.send(publishPacket(topic, '{}'))
      assert.equal(await client.nextOrClosed(), null)
    })
  }
})

describe('a client id', () => {
  test('that is empty is replaced for a clean session, and rejected with code 2 otherwise', async () => {
    const clients = [await connect(admin, ''), await connect(admin, '')]
    for (const client of clients) {
      await client.flush()
      client.destroy()
    }
    assert.equal((await attempt(admin, '', { clean: false })).code, 2)
  })

  test('belongs to its user: another user can use the same one with a separate session', async () => {
    const { hardwareId, user: device } = await newDevice()
    const scope = { allowed_hardware_ids: [hardwareId] }
    const [first, second] = [await gateway.createUser(scope), await gateway.createUser(scope)]
    const holder = await connect(first, 'shared-id', { clean: false })
    await subscribe(holder, { 'dev/+/st': 1 })
    const other = await connect(second, 'shared-id', { clean: false })
    await send(device, `dev/${hardwareId}/st`)
    assert.deepEqual(await received(holder), [`dev/${hardwareId}/st`])
    assert.deepEqual(await received(other), [])
    await gateway.request('DELETE', `/users/${first.userId}`)
    await holder.closed()
    assert.deepEqual(await other.flush(), [])
    other.destroy()
  })

  for (const isThere of [true, false]) {
    test(`of a new device becomes its own; a program using it ${isThere ? 'stays' : 'keeps its session'}`, async () => {
      const hardwareId = `claimed-${++count}`
      const program = await connect(admin, hardwareId, { clean: false })
      await subscribe(program, { 'shop/#': 1 })
      if (!isThere) {
        program.destroy()
        await program.closed()
      }
      const user = { userId: hardwareId, key: await gateway.register(hardwareId) }
      const client = await RawMqtt.open(gateway.mqtt)
      const credentials = { username: user.userId, password: user.key, clean: false }
      assert.equal(await client.login({ clientId: hardwareId, ...credentials }), 0)
      await send(admin, 'shop/x')
      assert.deepEqual(await client.flush(), [])
      const then = isThere ? program : await connect(admin, hardwareId, { clean: false })
      assert.deepEqual(await received(then), ['shop/x'])
      assert.equal(client.isClosed, false)
      client.destroy()
      then.destroy()
    })
  }
})

describe('a session', () => {
  test('is taken over with its unacknowledged messages, and the first connection is closed', async () => {
    const first = await connect(admin, 'taken', { clean: false })
    await subscribe(first, { 'taken/+': 1 })
    await send(admin, 'taken/1')
    assert.equal((await first.flush()).length, 1)
    const second = await connect(admin, 'taken', { clean: false })
    await first.closed()
    const again = await second.next(PACKET.publish)
    assert.equal(again.flags & 8, 8)
    second.send(acknowledgement(again))
    await send(admin, 'taken/2')
    assert.deepEqual(await received(second), ['taken/2'])
    second.destroy()
  })

  test('is discarded by a clean one, with its subscriptions and queued messages', async () => {
    const reader = await connect(admin, 'renewed', { clean: false })
    await subscribe(reader, { 'renewed/#': 1 })
    reader.destroy()
    await reader.closed()
    await send(admin, 'renewed/1')
    const clean = await connect(admin, 'renewed', { clean: true })
    assert.deepEqual(await clean.flush(), [])
    clean.destroy()
    await clean.closed()
    await gateway.restart()
    const { client } = await attempt(admin, 'renewed', { clean: false })
    await send(admin, 'renewed/2')
    assert.deepEqual(await client.flush(), [])
    client.destroy()
  })
})
