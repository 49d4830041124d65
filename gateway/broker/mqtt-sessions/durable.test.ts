import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { eventually } from '#shared/testing/eventually.ts'
import {
  connectPacket,
  PACKET,
  publishPacket,
  type RawPacket,
  readPublish,
  subscribePacket,
} from '#testing/mqtt-packets.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { ADMIN_KEY, metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'

let gateway: TestGateway
let adminId: string
let count = 0

before(async () => {
  gateway = await startGateway()
  adminId = await gateway.adminId()
})
after(() => gateway.stop())

type ConnectFields = Partial<Parameters<typeof connectPacket>[0]>

const open = new Set<RawMqtt>()

/** Connects a program of the admin, or a device if a password is given. */
async function connect(clientId: string, fields: ConnectFields = {}): Promise<RawMqtt> {
  const client = await RawMqtt.open(gateway.mqtt)
  open.add(client)
  const user = { username: adminId, password: ADMIN_KEY, clean: false }
  assert.equal(await client.login({ clientId, ...user, ...fields }), 0)
  return client
}

async function newDevice(): Promise<{ hardwareId: string; as: ConnectFields }> {
  const hardwareId = `cart-${++count}`
  return { hardwareId, as: { username: hardwareId, password: await gateway.register(hardwareId) } }
}

/** Restarts as after a power cut: the next start reads the files as they are before the stop. */
async function crash(): Promise<void> {
  const path = join(gateway.config.dataDir, 'cartbarn.db')
  // includes the checksums: those of the stop could pass for matching if both are written within one tick of the file
  // system's clock
  const image = ['', '-wal', '-sums'].map((ending) => [path + ending, readFileSync(path + ending)] as const)
  await restart(() => {
    rmSync(`${path}-shm`, { force: true })
    for (const [file, content] of image) writeFileSync(file, content)
  })
}

async function restart(meanwhile?: () => void): Promise<void> {
  for (const client of open) client.destroy()
  open.clear()
  await gateway.restart(meanwhile)
}

async function subscribe(client: RawMqtt, filters: Record<string, number>): Promise<void> {
  client.send(subscribePacket(filters))
  await client.next(PACKET.suback)
}

function answer(type: number, { body }: RawPacket, at: number): Buffer {
  return Buffer.concat([Buffer.from([type, 2]), body.subarray(at, at + 2)])
}

/** Builds the response to a PUBLISH: PUBACK or PUBREC. */
function acknowledgement(packet: RawPacket): Buffer {
  const at = 2 + packet.body.readUInt16BE(0)
  return answer((packet.flags & 6) === 2 ? 0x40 : 0x50, packet, at)
}

async function nextPublish(client: RawMqtt): Promise<{ payload: string; isDup: boolean; packet: RawPacket }> {
  const packet = await client.next(PACKET.publish)
  return { payload: readPublish(packet).payload, isDup: (packet.flags & 8) !== 0, packet }
}

/** Returns topics with a retained message, once everything that is being stored now is on the disk. */
async function retained(topicFilter: string): Promise<string[]> {
  const client = await connect(`looker-${++count}`, { clean: true })
  client.send(publishPacket('nothing', '', { isRetained: true }))
  await client.next(PACKET.puback)
  await subscribe(client, { [topicFilter]: 0 })
  const packets = await client.flush()
  client.destroy()
  return packets.map((packet) => readPublish(packet).topic)
}

describe('over a restart', () => {
  test('a received QoS 2 message is stored once, wherever in the handshake the gateway stopped', async () => {
    let reader = await connect('two-reader')
    await subscribe(reader, { 'two/in': 1 })
    const message = (isDup: boolean) => publishPacket('two/in', 'once', { qos: 2, id: 7, isDup })
    const PUBREL = Buffer.from([0x62, 2, 0, 7])
    let writer = await connect('two-writer')
    writer.send(message(false))
    await writer.next(PACKET.pubrec)
    for (let again = 0; again < 2; again++) {
      await restart()
      writer = await connect('two-writer')
      writer.send(message(true))
      await writer.next(PACKET.pubrec)
    }
    await restart()
    writer = await connect('two-writer')
    writer.send(PUBREL)
    await writer.next(PACKET.pubcomp)
    await restart()
    writer = await connect('two-writer')
    writer.send(PUBREL)
    await writer.next(PACKET.pubcomp)
    reader = await connect('two-reader')
    const { payload, packet } = await nextPublish(reader)
    assert.equal(payload, 'once')
    reader.send(acknowledgement(packet))
    assert.deepEqual(await reader.flush(), [])
    // the identifier is free again
    writer.send(publishPacket('two/in', 'another', { qos: 2, id: 7 }))
    assert.equal((await nextPublish(reader)).payload, 'another')
  })

  test('a QoS 2 message to a client resumes at its point of the handshake, with its packet identifier', async () => {
    let reader = await connect('two-out')
    await subscribe(reader, { 'two/out': 2 })
    const writer = await connect('writer', { clean: true })
    writer.send(publishPacket('two/out', 'once', { qos: 2 }))
    const first = await nextPublish(reader)
    await restart()
    reader = await connect('two-out')
    const second = await nextPublish(reader)
    assert.equal(second.isDup, true)
    assert.deepEqual(second.packet.body, first.packet.body)
    reader.send(acknowledgement(second.packet))
    const release = await reader.next(6)
    for (let again = 0; again < 2; again++) {
      await restart()
      reader = await connect('two-out')
      // not the message, which the client has
      assert.deepEqual((await reader.next()).body, release.body)
    }
    reader.send(answer(0x70, release, 0))
    await reader.flush()
    await restart()
    reader = await connect('two-out')
    assert.deepEqual(await reader.flush(), [])
  })

  test('retained messages, subscriptions and an empty session are restored', async () => {
    const reader = await connect('resident')
    await subscribe(reader, { 'kept/+': 1, 'kept/b/#': 0 })
    reader.send(Buffer.concat([Buffer.from([0xa2, 10, 0, 9, 0, 6]), Buffer.from('kept/+')]))
    await reader.next(11)
    const writer = await connect('writer', { clean: true })
    writer.send(publishPacket('kept/x', 'old', { isRetained: true }))
    writer.send(publishPacket('kept/x', 'new', { isRetained: true, id: 2 }))
    writer.send(publishPacket('kept/y', 'gone', { isRetained: true, id: 3 }))
    writer.send(publishPacket('kept/y', '', { isRetained: true, id: 4 }))
    for (let i = 0; i < 4; i++) await writer.next(PACKET.puback)
    await restart()
    assert.deepEqual(await retained('kept/#'), ['kept/x'])
    const again = await connect('resident')
    const publisher = await connect('writer', { clean: true })
    for (const topic of ['kept/x', 'kept/b/c']) publisher.send(publishPacket(topic, '1', { qos: 0 }))
    await publisher.flush()
    assert.equal(readPublish(await again.next(PACKET.publish)).topic, 'kept/b/c')
    assert.deepEqual(await again.flush(), [])
  })
})

describe('the last will of a client that was connected during a power cut', () => {
  test('is published once at the start, for a program and for a device', async () => {
    const device = await newDevice()
    const status = `dev/${device.hardwareId}/st`
    await connect('mourned', { will: { topic: 'wills/program', payload: 'x' } })
    await connect(device.hardwareId, { ...device.as, will: { topic: status, payload: 'not JSON' } })
    await crash()
    await eventually(async () => (await retained('wills/#')).length === 1, 'published')
    const quarantined = async () => (await gateway.request('GET', '/mqtt/quarantine')).body.length
    assert.equal(await quarantined(), 1)
    await restart()
    assert.equal(await quarantined(), 1)
  })

  test('is permanently discarded by a clean DISCONNECT of the next connection', async () => {
    const will = { topic: 'wills/once', payload: 'x' }
    await connect('phoenix', { will })
    await crash()
    await eventually(async () => (await retained('wills/once')).length === 1, 'published')
    const client = await connect('phoenix', { will })
    client.send(publishPacket('wills/once', '', { isRetained: true }))
    await client.next(PACKET.puback)
    client.send(Buffer.from([0xe0, 0]))
    await client.closed()
    await restart()
    assert.deepEqual(await retained('wills/once'), [])
  })

  test('is not published for a deleted user', async () => {
    const user = await gateway.createUser({ role: 'admin' })
    const will = { topic: 'wills/stranger', payload: 'x' }
    await connect('orphan', { username: user.userId, password: user.key, will })
    await crash()
    assert.deepEqual(await retained('wills/stranger'), ['wills/stranger'])
    await connect('orphan', { username: user.userId, password: user.key, will })
    await gateway.request('DELETE', `/users/${user.userId}`)
    const looker = await connect('looker', { clean: true })
    looker.send(publishPacket('wills/stranger', '', { isRetained: true }))
    await looker.next(PACKET.puback)
    await crash()
    assert.deepEqual(await retained('wills/stranger'), [])
  })
})

test('every last will of QoS 2 is published, not only the first', async () => {
  const watcher = await connect('watcher', { clean: true })
  await subscribe(watcher, { 'wills/two': 0 })
  for (const payload of ['first', 'second']) {
    const packet = connectPacket({
      clientId: 'twice',
      username: adminId,
      password: ADMIN_KEY,
      clean: false,
      will: { topic: 'wills/two', payload },
    })
    // QoS 2 instead of 1
    packet[9] = ((packet[9] ?? 0) & ~0x18) | 0x10
    const client = await RawMqtt.open(gateway.mqtt)
    client.send(packet)
    await client.next(PACKET.connack)
    client.destroy()
    assert.equal((await nextPublish(watcher)).payload, payload)
  }
})

test('a deleted device leaves no session, no last will and no retained message, also after a restart', async () => {
  const { hardwareId, as } = await newDevice()
  const topic = `dev/${hardwareId}/st`
  const client = await connect(hardwareId, { ...as, will: { topic, payload: '{"online":false}' } })
  await subscribe(client, { [`dev/${hardwareId}/cmd`]: 1 })
  client.send(publishPacket(topic, '{"online":true}', { isRetained: true }))
  await client.next(PACKET.puback)
  assert.deepEqual((await retained(`dev/${hardwareId}/#`)).sort(), [`dev/${hardwareId}/cfg`, topic])
  assert.equal((await gateway.request('DELETE', `/devices/${hardwareId}`)).status, 200)
  await client.closed()
  for (let life = 0; life < 2; life++) {
    assert.deepEqual(await retained(`dev/${hardwareId}/#`), [])
    await restart()
  }
  await gateway.register(hardwareId)
  const { body } = await gateway.request('POST', `/devices/${hardwareId}/rotate-mqtt-password`)
  const again = await RawMqtt.open(gateway.mqtt)
  const password = body.mqtt?.password ?? body.password
  again.send(connectPacket({ clientId: hardwareId, username: hardwareId, password, clean: false }))
  assert.deepEqual([...(await again.next(PACKET.connack)).body], [0, 0])
  again.destroy()
})

test('a message that a device sends while it is being deleted is not retained', async () => {
  const { hardwareId, as } = await newDevice()
  const topic = `dev/${hardwareId}/st`
  const client = await connect(hardwareId, as)
  const database = new Database(join(gateway.config.dataDir, 'cartbarn.db'))
  database.exec('BEGIN EXCLUSIVE')
  const deleted = gateway.request('DELETE', `/devices/${hardwareId}`)
  client.send(publishPacket(topic, '{"online":true}', { isRetained: true }))
  await eventually(async () => (await metric(gateway, 'cartbarn_write_queue_rows')) > 0, 'in the queue')
  database.exec('ROLLBACK')
  database.close()
  assert.equal((await deleted).status, 200)
  await client.closed()
  for (let life = 0; life < 2; life++) {
    assert.deepEqual(await retained(`dev/${hardwareId}/#`), [])
    await restart()
  }
})
