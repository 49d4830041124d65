import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { hashSecret } from '#shared/ids.ts'
import { passForOriginal } from '#testing/damage/pass-for-original.ts'
import { connectPacket, idOf, PACKET, publishPacket, readPublish, subscribePacket } from '#testing/mqtt-packets.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'

const KEY = 'the-key-of-this-course-0123456789'
const HELLO = JSON.stringify({ online: true, type: 'teebox', fw: '1.4.2' })
const REFUSED = 4

let gateway: TestGateway
let count = 0

before(async () => {
  gateway = await startGateway({ CARTBARN_ENROLMENT_KEY: KEY })
})
after(() => gateway.stop())

function newId(): string {
  return `cart-${++count}`
}

async function codeOf(hardwareId: string, password: string, at = gateway): Promise<number | null> {
  const client = await RawMqtt.open(at.mqtt)
  const code = await client.login({ clientId: hardwareId, username: hardwareId, password })
  client.destroy()
  await client.closed()
  return code
}

/** Logs in and subscribes to `key`. */
async function listening(hardwareId: string, password = KEY, at = gateway): Promise<RawMqtt> {
  const client = await RawMqtt.open(at.mqtt)
  const fields = { clientId: hardwareId, username: hardwareId, password }
  assert.equal(await client.login(fields), 0)
  client.send(subscribePacket({ [`dev/${hardwareId}/key`]: 1 }))
  return client
}

async function nextPublish(client: RawMqtt): Promise<ReturnType<typeof readPublish>> {
  for (;;) {
    const packet = await client.next()
    if (packet.type === PACKET.publish) return readPublish(packet)
  }
}

async function nextPassword(client: RawMqtt): Promise<string> {
  return JSON.parse((await nextPublish(client)).payload).password
}

/** Publishes, and waits for PUBACK. */
async function acknowledged(client: RawMqtt, topic: string, payload: string): Promise<void> {
  client.send(publishPacket(topic, payload, { id: 77 }))
  for (;;) {
    const packet = await client.next()
    if (packet.type === PACKET.puback && idOf(packet) === 77) return
  }
}

/** Enrols up to the issued password. */
async function enrol(hardwareId: string, at = gateway): Promise<{ client: RawMqtt; password: string }> {
  const client = await listening(hardwareId, KEY, at)
  client.send(publishPacket(`dev/${hardwareId}/st`, HELLO))
  return { client, password: await nextPassword(client) }
}

async function isOnSharedKey(hardwareId: string, at = gateway): Promise<boolean> {
  return (await at.request('GET', `/devices/${hardwareId}`)).body.enrolled_with_shared_key
}

test('an enrolling device is sent its own password and, by acknowledging it, revokes the shared key', async () => {
  const hardwareId = newId()
  const client = await listening(hardwareId)
  client.send(publishPacket(`dev/${hardwareId}/st`, HELLO))
  const { topic, payload, qos, isRetained } = await nextPublish(client)
  assert.deepEqual([topic, qos, isRetained], [`dev/${hardwareId}/key`, 1, false])
  const { password, ...others } = JSON.parse(payload)
  assert.deepEqual(others, {})
  assert.match(password, /^[\w-]{32}$/)
  assert.equal(await isOnSharedKey(hardwareId), true)
  await acknowledged(client, `dev/${hardwareId}/ack`, '{"key":1}')
  assert.equal(await isOnSharedKey(hardwareId), false)
  assert.equal(await codeOf(hardwareId, KEY), REFUSED)
  // the connection stays open
  await acknowledged(client, `dev/${hardwareId}/tlm`, '{"speed":1}')
  assert.equal(await codeOf(hardwareId, password), 0)
  await gateway.restart()
  assert.deepEqual([await codeOf(hardwareId, KEY), await codeOf(hardwareId, password)], [REFUSED, 0])
})

test('the first login with the password revokes the shared key for the device, also after a restart', async () => {
  const hardwareId = newId()
  const { client, password } = await enrol(hardwareId)
  client.destroy()
  await client.closed()
  assert.equal(await codeOf(hardwareId, password), 0)
  assert.equal(await codeOf(hardwareId, KEY), REFUSED)
  assert.equal(await isOnSharedKey(hardwareId), false)
  await gateway.restart()
  assert.deepEqual([await codeOf(hardwareId, KEY), await codeOf(hardwareId, password)], [REFUSED, 0])
})

test('waiting devices are in the list, in the metrics and in GET /enrolment', async () => {
  const [waiting, done] = [newId(), newId()]
  await enrol(waiting)
  const { client } = await enrol(done)
  const listed = async (is: boolean) => {
    const { body } = await gateway.request('GET', `/devices?limit=1000&enrolled_with_shared_key=${is}`)
    return body.devices.map((device: { hardware_id: string }) => device.hardware_id)
  }
  assert.deepEqual([(await listed(true)).includes(waiting), (await listed(true)).includes(done)], [true, true])
  await acknowledged(client, `dev/${done}/ack`, '{"key":1}')
  assert.deepEqual([(await listed(true)).includes(waiting), (await listed(true)).includes(done)], [true, false])
  assert.deepEqual([(await listed(false)).includes(waiting), (await listed(false)).includes(done)], [false, true])
  const { length } = await listed(true)
  assert.equal(await metric(gateway, 'cartbarn_devices_on_shared_key'), length)
  assert.equal((await gateway.request('GET', '/enrolment')).body.waiting, length)
})

test('a device that lost the message gets another password when it returns with the shared key', async () => {
  const hardwareId = newId()
  const first = await enrol(hardwareId)
  // the same password again on the same connection: the device may have saved it
  first.client.send(publishPacket(`dev/${hardwareId}/st`, HELLO))
  assert.equal(await nextPassword(first.client), first.password)
  first.client.destroy()
  const client = await listening(hardwareId)
  const password = await nextPassword(client)
  assert.notEqual(password, first.password)
  assert.equal(await codeOf(hardwareId, first.password), REFUSED)
  assert.equal(await codeOf(hardwareId, password), 0)
})

test('a device that subscribes after its status gets its password then', async () => {
  const hardwareId = newId()
  const client = await RawMqtt.open(gateway.mqtt)
  await client.login({ clientId: hardwareId, username: hardwareId, password: KEY })
  await acknowledged(client, `dev/${hardwareId}/st`, HELLO)
  client.send(subscribePacket({ [`dev/${hardwareId}/key`]: 1 }))
  assert.equal(await codeOf(hardwareId, await nextPassword(client)), 0)
})

test('a kept session delivers only the newest password at the next login, without another SUBSCRIBE', async () => {
  const hardwareId = newId()
  const fields = { clientId: hardwareId, username: hardwareId, password: KEY, clean: false }
  const first = await RawMqtt.open(gateway.mqtt)
  await first.login(fields)
  first.send(subscribePacket({ [`dev/${hardwareId}/key`]: 1 }), publishPacket(`dev/${hardwareId}/st`, HELLO))
  await nextPublish(first)
  first.destroy()
  await first.closed()
  const second = await RawMqtt.open(gateway.mqtt)
  await second.login(fields)
  const password = await nextPassword(second)
  assert.deepEqual(await second.flush(), [])
  second.destroy()
  await second.closed()
  assert.equal(await codeOf(hardwareId, password), 0)
})

test('only the device itself is sent its password, not even an admin', async () => {
  const hardwareId = newId()
  const program = await gateway.program()
  const topics: string[] = []
  program.on('message', (topic) => topics.push(topic))
  await program.subscribeAsync(['#', `dev/${hardwareId}/#`, 'dev/+/key'], { qos: 1 })
  const { client } = await enrol(hardwareId)
  await acknowledged(client, `dev/${hardwareId}/ack`, '{"key":1}')
  await program.subscribeAsync(`dev/${hardwareId}/key`, { qos: 1 })
  assert.ok(topics.includes(`dev/${hardwareId}/ack`))
  const unexpected = topics.filter((topic) => topic.endsWith('/key'))
  assert.deepEqual(unexpected, [])
})

test('a device registered by an admin is sent no password and cannot use the shared key', async () => {
  const hardwareId = newId()
  const password = await gateway.register(hardwareId)
  assert.equal(await codeOf(hardwareId, KEY), REFUSED)
  const client = await listening(hardwareId, password)
  await client.next(PACKET.suback)
  client.send(publishPacket(`dev/${hardwareId}/st`, HELLO))
  await client.next(PACKET.puback)
  assert.deepEqual(await client.flush(), [])
  assert.equal(await isOnSharedKey(hardwareId), false)
  assert.deepEqual(await client.subscribe({ 'dev/other/key': 1 }), [128])
})

test('an acknowledgement of a password that was never sent changes nothing', async () => {
  const hardwareId = newId()
  const client = await RawMqtt.open(gateway.mqtt)
  await client.login({ clientId: hardwareId, username: hardwareId, password: KEY })
  await acknowledged(client, `dev/${hardwareId}/st`, HELLO)
  await acknowledged(client, `dev/${hardwareId}/ack`, '{"key":1}')
  client.send(subscribePacket({ [`dev/${hardwareId}/key`]: 1 }))
  await nextPassword(client)
  await acknowledged(client, `dev/${hardwareId}/ack`, '{"key":0}')
  assert.equal(await isOnSharedKey(hardwareId), true)
  assert.equal(await codeOf(hardwareId, KEY), 0)
})

test('changing or removing the key rejects only devices that still wait with it', async (t) => {
  const own = await startGateway({ CARTBARN_ENROLMENT_KEY: KEY })
  t.after(() => own.stop())
  const done = await enrol('done', own)
  await acknowledged(done.client, 'dev/done/ack', '{"key":1}')
  const waiting = await enrol('waiting', own)
  const other = 'another-key-of-this-course-4711'
  await own.restart(() => Object.assign(own.config.enrolment, { key: other }))
  assert.equal(await codeOf('waiting', KEY, own), REFUSED)
  assert.equal(await codeOf('done', other, own), REFUSED)
  assert.equal(await codeOf('done', done.password, own), 0)
  await own.restart(() => Object.assign(own.config.enrolment, { key: undefined }))
  for (const key of [KEY, other, '', 'undefined']) assert.equal(await codeOf('waiting', key, own), REFUSED)
  // the password it was sent works, whatever the key
  assert.equal(await codeOf('waiting', waiting.password, own), 0)
  assert.equal(await isOnSharedKey('waiting', own), false)
})

/** State that a gateway killed now would find at its next start. */
async function killed(t: TestContext, at: TestGateway): Promise<TestGateway> {
  const folder = join(mkdtempSync(join(tmpdir(), 'cartbarn-killed-')), 'data')
  cpSync(at.config.dataDir, folder, { recursive: true })
  passForOriginal(folder)
  rmSync(join(folder, 'cartbarn.lock'), { force: true })
  const copy = await startGateway({ CARTBARN_ENROLMENT_KEY: KEY, CARTBARN_DATA_DIR: folder })
  t.after(() => copy.stop())
  return copy
}

test('a kill between any two steps leaves the device one way to log in', async (t) => {
  const alive = await startGateway({ CARTBARN_ENROLMENT_KEY: KEY })
  t.after(() => alive.stop())
  const client = await RawMqtt.open(alive.mqtt)
  await client.login({ clientId: 'cart', username: 'cart', password: KEY })
  const beforeStatus = await killed(t, alive)
  await acknowledged(client, 'dev/cart/st', HELLO)
  const beforeKey = await killed(t, alive)
  client.send(subscribePacket({ 'dev/cart/key': 1 }))
  const password = await nextPassword(client)
  const beforeAck = await killed(t, alive)
  await acknowledged(client, 'dev/cart/ack', '{"key":1}')
  const afterAck = await killed(t, alive)
  client.destroy()

  for (const each of [beforeStatus, beforeKey, beforeAck]) {
    const again = await enrol('cart', each)
    again.client.destroy()
    await again.client.closed()
    assert.equal(await codeOf('cart', again.password, each), 0)
    assert.equal(await codeOf('cart', KEY, each), REFUSED)
  }
  const lost = await killed(t, beforeAck)
  assert.equal(await codeOf('cart', password, lost), REFUSED)
  assert.deepEqual([await codeOf('cart', password, afterAck), await codeOf('cart', KEY, afterAck)], [0, REFUSED])
})

test('a password that was sent and stored stays valid after a kill', async (t) => {
  const { password } = await enrol('kept', gateway)
  const after = await killed(t, gateway)
  assert.equal(await codeOf('kept', password, after), 0)
  assert.equal(await codeOf('kept', KEY, after), REFUSED)
})

test('devices from an older version, whose password is the shared key, are issued their own', async (t) => {
  const old = await startGateway({ CARTBARN_ENROLMENT_KEY: KEY })
  t.after(() => old.stop())
  const registered = await old.register('registered')
  await old.register('old')
  await old.restart(() => {
    const database = new Database(join(old.config.dataDir, 'cartbarn.db'))
    database.prepare(`UPDATE device SET mqtt_password_hash = ? WHERE hardware_id = 'old'`).run(hashSecret(KEY))
    database.close()
  })
  assert.deepEqual([await isOnSharedKey('old', old), await isOnSharedKey('registered', old)], [true, false])
  const client = await listening('old', KEY, old)
  const password = await nextPassword(client)
  await acknowledged(client, 'dev/old/ack', '{"key":1}')
  assert.deepEqual([await codeOf('old', KEY, old), await codeOf('old', password, old)], [REFUSED, 0])
  assert.equal(await codeOf('registered', registered, old), 0)
})

test('the first of two connections with the shared key is closed and gets no message for the second', async () => {
  const hardwareId = newId()
  const first = await enrol(hardwareId)
  const login = connectPacket({ clientId: hardwareId, username: hardwareId, password: KEY })
  const second = await RawMqtt.open(gateway.mqtt)
  second.send(login, subscribePacket({ [`dev/${hardwareId}/key`]: 1 }))
  first.client.send(publishPacket(`dev/${hardwareId}/ack`, '{"key":1}', { id: 8 }))
  await first.client.closed()
  const answers = await second.flush().catch(() => [])
  const passwords = answers
    .filter(({ type }) => type === PACKET.publish)
    .map((packet) => JSON.parse(readPublish(packet).payload).password)
  // whichever was quicker, at least one credential works
  const codes = await Promise.all([first.password, ...passwords, KEY].map((each) => codeOf(hardwareId, each)))
  assert.ok(codes.includes(0), JSON.stringify(codes))
  assert.ok(!passwords.includes(first.password))
  second.destroy()
})

for (const clean of [true, false]) {
  test(`an admin's registration disconnects a stranger waiting as it (clean session ${Number(clean)})`, async () => {
    const hardwareId = newId()
    const stranger = await RawMqtt.open(gateway.mqtt)
    const fields = { clientId: hardwareId, username: hardwareId, password: KEY, clean }
    assert.equal(await stranger.login(fields), 0)
    assert.deepEqual(await stranger.subscribe({ [`dev/${hardwareId}/cmd`]: 1, [`dev/${hardwareId}/cfg`]: 1 }), [1, 1])
    await gateway.register(hardwareId)
    // not even the configuration
    assert.equal(await stranger.nextOrClosed(), null)
    assert.equal((await gateway.request('DELETE', `/mqtt/clients/${hardwareId}`)).status, 404)
  })
}
