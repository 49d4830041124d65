import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import Database from 'better-sqlite3'
import { eventually } from '#shared/testing/eventually.ts'
import { connectPacket, PACKET, publishPacket, readPublish, subscribePacket } from '#testing/mqtt-packets.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'

const KEY = 'the-key-of-this-course-0123456789'
const HELLO = JSON.stringify({ online: true, type: 'teebox', fw: '1.4.2' })

let gateway: TestGateway
let count = 0

before(async () => {
  gateway = await startGateway({ CARTBARN_ENROLMENT_KEY: KEY })
})
after(() => gateway.stop())

function newId(): string {
  return `new-${++count}`
}

async function login(hardwareId: string, password = KEY): Promise<{ client: RawMqtt; code: number | null }> {
  const client = await RawMqtt.open(gateway.mqtt)
  return { client, code: await client.login({ clientId: hardwareId, username: hardwareId, password }) }
}

async function isRegistered(hardwareId: string): Promise<boolean> {
  return (await gateway.request('GET', `/devices/${hardwareId}`)).status === 200
}

test('without an enrolment key no device can enrol', async (t) => {
  const closed = await startGateway()
  t.after(() => closed.stop())
  for (const password of [KEY, '', 'undefined']) {
    const client = await RawMqtt.open(closed.mqtt)
    assert.equal(await client.login({ clientId: 'new-1', username: 'new-1', password }), 4)
  }
})

test('the first status message that names a type registers the device', async () => {
  const hardwareId = newId()
  const { client, code } = await login(hardwareId)
  assert.equal(code, 0)
  assert.equal(await isRegistered(hardwareId), false)
  client.send(publishPacket(`dev/${hardwareId}/st`, HELLO))
  await client.next(PACKET.puback)
  const { body } = await gateway.request('GET', `/devices/${hardwareId}/details`)
  assert.equal(body.device_type, 'teebox')
  assert.equal(body.name, undefined)
  assert.equal(body.is_online, true)
  assert.deepEqual(body.status, { type: 'teebox', fw: '1.4.2' })
  client.destroy()
})

test('a device that waits for its configuration receives it as it enrols', async () => {
  const hardwareId = newId()
  const { client } = await login(hardwareId)
  client.send(subscribePacket({ [`dev/${hardwareId}/cfg`]: 1 }))
  await client.next(PACKET.suback)
  client.send(publishPacket(`dev/${hardwareId}/st`, HELLO))
  const { topic, payload } = readPublish(await client.next(PACKET.publish))
  assert.equal(topic, `dev/${hardwareId}/cfg`)
  const { body } = await gateway.request('GET', `/devices/${hardwareId}/config`)
  const { v, group_id, config } = JSON.parse(payload)
  assert.deepEqual([v, group_id, config], [body.version, null, body.resolved])
  client.destroy()
})

test('messages that follow the status in the same packets are stored in order', async () => {
  const hardwareId = newId()
  const client = await RawMqtt.open(gateway.mqtt)
  client.send(
    connectPacket({ clientId: hardwareId, username: hardwareId, password: KEY }),
    publishPacket(`dev/${hardwareId}/st`, HELLO, { id: 1 }),
    publishPacket(`dev/${hardwareId}/tlm`, '{"battery_voltage":40}', { id: 2 }),
    publishPacket(`dev/${hardwareId}/st`, HELLO, { id: 3 }),
    publishPacket(`dev/${hardwareId}/evt`, '{"event":"lock","source":"key"}', { id: 4 }),
  )
  const acknowledged: number[] = []
  while (acknowledged.length < 4) acknowledged.push((await client.next(PACKET.puback)).body.readUInt16BE())
  assert.deepEqual(acknowledged, [1, 2, 3, 4])
  const { body } = await gateway.request('GET', `/devices/${hardwareId}`)
  assert.deepEqual(body.attributes, { battery_voltage: 40, lock_status: true })
  client.destroy()
})

test('a subscriber to all devices is notified of the new device', async () => {
  const watcher = await gateway.realtime()
  await watcher.subscribe('*')
  const hardwareId = newId()
  const { client } = await login(hardwareId)
  client.send(publishPacket(`dev/${hardwareId}/st`, HELLO))
  assert.equal((await watcher.next('device_status')).hardwareId, hardwareId)
  client.destroy()
  watcher.terminate()
})

test('a status with an unknown type is not acknowledged; a known type later registers the device', async () => {
  const hardwareId = newId()
  const { client } = await login(hardwareId)
  client.send(publishPacket(`dev/${hardwareId}/st`, HELLO.replace('teebox', 'spaceship')))
  let hasAnswer = false
  client.stream.on('data', () => {
    hasAnswer = true
  })
  await gateway.register(newId())
  assert.equal(await isRegistered(hardwareId), false)
  assert.equal(hasAnswer, false)
  const again = await login(hardwareId)
  again.client.send(publishPacket(`dev/${hardwareId}/st`, HELLO))
  await again.client.next(PACKET.puback)
  assert.equal(await isRegistered(hardwareId), true)
  again.client.destroy()
})

for (const [what, level, payload] of [
  ['telemetry', 'tlm', '{"speed":1}'],
  ['a status without a type', 'st', '{"online":true}'],
  ['an unreadable status', 'st', '{"online":'],
  ['a lock event', 'evt', '{"event":"lock","source":"key"}'],
  ['an acknowledgement', 'ack', '{"cfg":1}'],
] as const) {
  for (const qos of [0, 1, 2]) {
    test(`${what} before the enrolment (QoS ${qos}) is acknowledged and dropped; the connection stays`, async () => {
      const hardwareId = newId()
      const topic = `dev/${hardwareId}/${level}`
      const watcher = await gateway.program()
      const received: string[] = []
      watcher.on('message', (each) => received.push(each))
      await watcher.subscribeAsync(`dev/${hardwareId}/#`, { qos: 1 })
      const dropped = await metric(gateway, 'cartbarn_dropped_total', 'not_enrolled')
      const { client } = await login(hardwareId)
      await client.publish(topic, payload, { qos, isRetained: true })
      assert.deepEqual(await client.flush(), [])
      assert.equal(await isRegistered(hardwareId), false)
      assert.equal(await metric(gateway, 'cartbarn_dropped_total', 'not_enrolled'), dropped + 1)
      // it was not retained for later subscribers either
      await watcher.subscribeAsync(topic, { qos: 1 })
      assert.deepEqual(received, [])
      client.send(publishPacket(`dev/${hardwareId}/st`, HELLO, { id: 9 }))
      await client.next(PACKET.puback)
      assert.equal(await isRegistered(hardwareId), true)
      client.destroy()
    })
  }
}

test('the last will of a device that never enrolled is dropped', async () => {
  const hardwareId = newId()
  const dropped = await metric(gateway, 'cartbarn_dropped_total', 'not_enrolled')
  const client = await RawMqtt.open(gateway.mqtt)
  const will = { topic: `dev/${hardwareId}/st`, payload: HELLO }
  assert.equal(await client.login({ clientId: hardwareId, username: hardwareId, password: KEY, will }), 0)
  client.destroy()
  const isDropped = async () => (await metric(gateway, 'cartbarn_dropped_total', 'not_enrolled')) === dropped + 1
  await eventually(isDropped, 'dropped')
  assert.equal(await isRegistered(hardwareId), false)
})

test('a wrong key is rejected', async () => {
  for (const password of ['', KEY.slice(1), `${KEY}x`, KEY.toUpperCase()])
    assert.equal((await login(newId(), password)).code, 4)
})

test("a name that is not a valid hardware id, or is another device's short id, is rejected", async () => {
  await gateway.register(newId())
  const { body } = await gateway.request('GET', `/devices/new-${count}`)
  for (const name of ['active', 'a b', 'a/b', 'a+', '#', 'ü', 'x'.repeat(65), body.short_id])
    assert.equal((await login(name)).code, 4, name)
})

test('a device registered with its own password cannot log in with the enrolment key', async () => {
  const hardwareId = newId()
  await gateway.register(hardwareId)
  assert.equal((await login(hardwareId)).code, 4)
})

test('an enrolled device can publish only on its own topics', async () => {
  const { client } = await login(newId())
  client.send(publishPacket('dev/another/st', HELLO))
  assert.equal(await client.nextOrClosed(), null)
  assert.equal(await isRegistered('another'), false)
})

test('a device that leaves while it is being registered does not stay online', async () => {
  const watcher = await gateway.realtime()
  await watcher.subscribe('*')
  const hardwareId = newId()
  const { client } = await login(hardwareId)
  client.send(publishPacket(`dev/${hardwareId}/st`, HELLO), Buffer.from([0xe0, 0]))
  client.stream.end()
  await client.closed()
  await eventually(() => isRegistered(hardwareId), 'registered')
  await eventually(async () => {
    const { body } = await gateway.request('GET', `/devices/${hardwareId}`)
    return body.is_online === false
  }, 'offline')
  const { client: other } = await login(newId())
  other.destroy()
  const { body } = await gateway.request('GET', `/devices/${hardwareId}/details`)
  assert.deepEqual(body.mqtt, { connected_since: null, address: null, taken_over: 0 })
})

test('a device that reconnects while it is being registered is not left waiting', async () => {
  const hardwareId = newId()
  const database = new Database(join(gateway.config.dataDir, 'cartbarn.db'))
  database.exec('BEGIN EXCLUSIVE')
  const first = await login(hardwareId)
  first.client.send(
    subscribePacket({ [`dev/${hardwareId}/ta`]: 0 }),
    publishPacket(`dev/${hardwareId}/st`, HELLO),
    publishPacket(`dev/${hardwareId}/tq`, '{"up":1}', { qos: 0 }),
  )
  // its status has been parsed and waits for the disk
  await first.client.next(PACKET.publish)
  const second = await login(hardwareId)
  assert.equal(second.code, 0)
  second.client.send(publishPacket(`dev/${hardwareId}/st`, HELLO))
  database.exec('ROLLBACK')
  database.close()
  await second.client.next(PACKET.puback)
  assert.equal((await gateway.request('GET', `/devices/${hardwareId}`)).body.is_online, true)
  second.client.destroy()
})

test('an enrolled device logs in with the key, also after a restart, until its password is rotated', async () => {
  const hardwareId = newId()
  const { client } = await login(hardwareId)
  client.send(publishPacket(`dev/${hardwareId}/st`, HELLO))
  await client.next(PACKET.puback)
  await gateway.restart()
  const second = await login(hardwareId)
  assert.equal(second.code, 0)
  second.client.send(publishPacket(`dev/${hardwareId}/tlm`, '{"speed":1}'))
  await second.client.next(PACKET.puback)
  const { body } = await gateway.request('POST', `/devices/${hardwareId}/rotate-mqtt-password`)
  await second.client.closed()
  assert.equal((await login(hardwareId)).code, 4)
  assert.equal((await login(hardwareId, body.mqtt.password)).code, 0)
})

test('a device that never enrolled leaves no session, and an enrolled device keeps its session', async () => {
  const hardwareId = newId()
  const clients = async (query: string) =>
    (await gateway.request('GET', `/mqtt/clients?search=${hardwareId}${query}`)).body.clients.length
  const fields = { clientId: hardwareId, username: hardwareId, password: KEY, clean: false }
  for (const hasEnrolled of [false, true]) {
    const client = await RawMqtt.open(gateway.mqtt)
    assert.equal(await client.login(fields), 0)
    assert.deepEqual(await client.subscribe({ [`dev/${hardwareId}/cfg`]: 1 }), [1])
    if (hasEnrolled) await client.publish(`dev/${hardwareId}/st`, HELLO)
    client.destroy()
    await eventually(async () => (await clients('&connected=true')) === 0, 'gone')
    assert.equal(await clients(''), Number(hasEnrolled))
  }
})
