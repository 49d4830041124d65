import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { PACKET, publishPacket, readPublish, subscribePacket } from '#testing/mqtt-packets.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { fails, ok, scene } from '#testing/scene.ts'
import { metric, startFor } from '#testing/start-gateway.ts'

const KEY = 'the-key-of-this-course-0123456789'
const HELLO = '{"online":true,"type":"teebox"}'
const HOUR_MS = 3_600_000
const [REFUSED, NOT_NOW] = [4, 5]
const { g, clock, onlyFor } = scene({ settings: { CARTBARN_ENROLMENT_KEY: KEY }, inScope: ['cart-1'] })

async function login(hardwareId: string, at = g, password = KEY): Promise<{ client: RawMqtt; code: number | null }> {
  const client = await RawMqtt.open(at.mqtt)
  return { client, code: await client.login({ clientId: hardwareId, username: hardwareId, password }) }
}

async function codeOf(hardwareId: string, at = g, password = KEY): Promise<number | null> {
  const { client, code } = await login(hardwareId, at, password)
  client.destroy()
  return code
}

/** Enrols a device up to its registration. */
async function enrol(hardwareId: string, at = g): Promise<RawMqtt> {
  const { client, code } = await login(hardwareId, at)
  assert.equal(code, 0)
  client.send(publishPacket(`dev/${hardwareId}/st`, HELLO))
  await client.next(PACKET.puback)
  return client
}

const refusals = async (reason: string, at = g): Promise<number> => metric(at, 'cartbarn_mqtt_refused_total', reason)

onlyFor('admins', ['GET', '/enrolment'], ['POST', '/enrolment', { minutes: 5 }])

for (const [what, body, code] of [
  ['nothing', {}, 'missing_field'],
  ['0 minutes', { minutes: 0 }, 'invalid_field'],
  ['more than a day', { minutes: 1441 }, 'invalid_field'],
  ['half a minute', { minutes: 0.5 }, 'invalid_field'],
  ['a text', { minutes: '5' }, 'invalid_field'],
  ['an unknown field', { minutes: 5, hours: 1 }, 'unknown_field'],
] as const)
  test(`POST /enrolment with ${what} is 400 ${code}`, () => fails(g.post('/enrolment', body), 400, code))

test('without a key enrolment is closed and cannot be opened', async (t) => {
  const closed = await startFor(t, {}, { clock })
  const { body } = await closed.get('/enrolment')
  assert.deepEqual(body, {
    key_configured: false,
    is_open: false,
    open_until: null,
    waiting: 0,
    waiting_limit: 1000,
  })
  await fails(closed.post('/enrolment', { minutes: 5 }), 409, 'no_enrolment_key')
})

test('enrolment is open for 24 hours after a start, then only for devices registered before', async (t) => {
  const gateway = await startFor(t, { CARTBARN_ENROLMENT_KEY: KEY }, { clock })
  const openUntil = new Date(clock.nowMs() + 24 * HOUR_MS).toISOString()
  assert.deepEqual((await gateway.get('/enrolment')).body, {
    key_configured: true,
    is_open: true,
    open_until: openUntil,
    waiting: 0,
    waiting_limit: 1000,
  })
  clock.advance(24 * HOUR_MS - 1)
  const early = await enrol('early', gateway)
  const { client: late, code } = await login('late', gateway)
  assert.equal(code, 0)
  clock.advance(1)
  const { body } = await gateway.get('/enrolment')
  assert.deepEqual([body.is_open, body.open_until, body.waiting], [false, null, 1])

  const refused = await refusals('enrolment_closed', gateway)
  assert.equal(await codeOf('too-late', gateway), NOT_NOW)
  assert.equal(await refusals('enrolment_closed', gateway), refused + 1)
  assert.equal(await codeOf('too-late', gateway, 'wrong'), REFUSED)
  // it connected while enrolment was open, and asks to be registered afterwards
  late.send(publishPacket('dev/late/st', HELLO))
  assert.equal(await late.nextOrClosed(), null)
  assert.equal((await gateway.get('/devices/late')).status, 404)

  early.send(subscribePacket({ 'dev/early/key': 1 }))
  const { password } = JSON.parse(readPublish(await early.next(PACKET.publish)).payload)
  assert.deepEqual([await codeOf('early', gateway), await codeOf('early', gateway, password)], [0, 0])
})

test('POST /enrolment opens it for the given minutes from now on, even if that is shorter', async (t) => {
  const gateway = await startFor(t, { CARTBARN_ENROLMENT_KEY: KEY }, { clock })
  const body = await ok(gateway.post('/enrolment', { minutes: 30 }))
  assert.deepEqual(body, { open_until: new Date(clock.nowMs() + HOUR_MS / 2).toISOString() })
  clock.advance(HOUR_MS / 2)
  assert.equal(await codeOf('new-1', gateway), NOT_NOW)
  await gateway.post('/enrolment', { minutes: 1 })
  assert.equal(await codeOf('new-1', gateway), 0)
})

test('setting the clock does not close enrolment', async (t) => {
  const gateway = await startFor(t, { CARTBARN_ENROLMENT_KEY: KEY }, { clock })
  clock.set(clock.nowMs() + 1000 * HOUR_MS)
  assert.equal(await codeOf('new-1', gateway), 0)
})

test('with CARTBARN_ENROLMENT=always enrolment never closes', async (t) => {
  const gateway = await startFor(t, { CARTBARN_ENROLMENT_KEY: KEY, CARTBARN_ENROLMENT: 'always' }, { clock })
  await gateway.post('/enrolment', { minutes: 1 })
  clock.advance(1000 * HOUR_MS)
  const { body } = await gateway.get('/enrolment')
  assert.deepEqual([body.is_open, body.open_until], [true, null])
  assert.equal(await codeOf('new-1', gateway), 0)
})

test('only an admin can register a deleted device again', async (t) => {
  const gateway = await startFor(t, { CARTBARN_ENROLMENT_KEY: KEY }, { clock })
  const client = await enrol('removed', gateway)
  await gateway.remove('/devices/removed')
  await client.closed()
  assert.equal(await codeOf('removed', gateway), NOT_NOW)
  assert.equal(await refusals('device_removed', gateway), 1)
  await gateway.restart()
  assert.equal(await codeOf('removed', gateway), NOT_NOW)
  const password = await gateway.register('removed')
  assert.equal(await codeOf('removed', gateway), REFUSED)
  assert.equal(await codeOf('removed', gateway, password), 0)
})

test('an older connection with the shared key cannot register a deleted device again', async (t) => {
  const gateway = await startFor(t, { CARTBARN_ENROLMENT_KEY: KEY }, { clock })
  const { client } = await login('removed', gateway)
  await gateway.register('removed')
  await gateway.remove('/devices/removed')
  client.send(publishPacket('dev/removed/st', HELLO))
  await client.closed()
  assert.equal((await gateway.get('/devices/removed')).status, 404)
})

test('at most 1,000 devices wait; waiting devices can still log in and make room', async (t) => {
  const gateway = await startFor(t, { CARTBARN_ENROLMENT_KEY: KEY }, { clock })
  const first = await enrol('first', gateway)
  first.destroy()
  await gateway.restart(() => {
    const database = new Database(join(gateway.config.dataDir, 'cartbarn.db'))
    database.exec(`
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 998)
      INSERT INTO device (hardware_id, short_id, device_type, mqtt_password_hash, is_on_shared_key, created_at_ms,
      updated_at_ms)
        SELECT 'w' || i, 's' || i, 'teebox', 'hash' || i, 1, 1, 1 FROM n;
      INSERT INTO device_state (device_id, latest, updated_at_ms)
        SELECT device_id, '{}', 1 FROM device WHERE device_id NOT IN (SELECT device_id FROM device_state);
    `)
    database.close()
  })
  const last = await enrol('last', gateway)
  assert.equal((await gateway.get('/enrolment')).body.waiting, 1000)
  assert.equal(await codeOf('too-many', gateway), NOT_NOW)
  assert.equal(await refusals('enrolment_full', gateway), 1)
  assert.equal(await codeOf('first', gateway), 0)
  last.send(subscribePacket({ 'dev/last/key': 1 }))
  await last.next(PACKET.publish)
  last.send(publishPacket('dev/last/ack', '{"key":1}'))
  await last.next(PACKET.puback)
  assert.equal(await codeOf('too-many', gateway), 0)
})
