import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { eventually } from '#shared/testing/eventually.ts'
import { PACKET, publishPacket, subscribePacket } from '#testing/mqtt-packets.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { ADMIN_KEY, metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'

let gateway: TestGateway
let count = 0

before(async () => {
  gateway = await startGateway()
})
after(() => gateway.stop())

async function program(clientId: string, clean = true): Promise<RawMqtt> {
  const client = await RawMqtt.open(gateway.mqtt)
  const username = await gateway.adminId()
  assert.equal(await client.login({ clientId, username, password: ADMIN_KEY, clean }), 0)
  return client
}

async function device(): Promise<{ hardwareId: string; client: RawMqtt }> {
  const hardwareId = `cart-${++count}`
  const password = await gateway.register(hardwareId)
  const client = await RawMqtt.open(gateway.mqtt)
  assert.equal(await client.login({ clientId: hardwareId, username: hardwareId, password }), 0)
  return { hardwareId, client }
}

async function subscribe(client: RawMqtt, filters: Record<string, number>): Promise<void> {
  client.send(subscribePacket(filters))
  await client.next(PACKET.suback)
}

/** Holds the database's write lock, as a stuck disk would block the writer. */
function lockDatabase(t: TestContext): () => void {
  const database = new Database(join(gateway.config.dataDir, 'cartbarn.db'))
  database.exec('BEGIN EXCLUSIVE')
  t.after(() => database.close())
  return () => database.exec('ROLLBACK')
}

async function acknowledged(client: RawMqtt, ids: number[]): Promise<void> {
  const seen: number[] = []
  while (seen.length < ids.length) {
    const { type, body } = await client.next()
    if (type === PACKET.puback || type === PACKET.pubrec) seen.push(body.readUInt16BE())
  }
  assert.deepEqual(seen, ids)
}

async function queued(): Promise<void> {
  await eventually(async () => (await metric(gateway, 'cartbarn_write_queue_rows')) > 0, 'in the queue')
}

describe('a QoS 1 message of a program', () => {
  for (const what of ['to be retained', 'for a session that is kept']) {
    test(`${what} is acknowledged and delivered only when it is on the disk`, async (t) => {
      const isRetained = what === 'to be retained'
      const reader = await program('reader', false)
      await subscribe(reader, isRetained ? { 'kept/nothing': 1 } : { 'kept/queued': 1 })
      const writer = await program('writer')
      const bystander = await program('bystander')
      const unlock = lockDatabase(t)
      writer.send(publishPacket(isRetained ? 'kept/retained' : 'kept/queued', 'x', { isRetained }))
      await queued()
      let isAnswered = false
      const answered = writer.next(PACKET.puback).then(() => {
        isAnswered = true
      })
      for (let i = 0; i < 20; i++) assert.deepEqual(await bystander.flush(), [])
      assert.deepEqual(await reader.flush(), [])
      assert.equal(isAnswered, false)
      unlock()
      await answered
      for (const client of [reader, writer, bystander]) client.destroy()
    })
  }
})

describe('acknowledgements come in the order of the messages', () => {
  test('when some are stored and others are not', async () => {
    const reader = await program('order', false)
    await subscribe(reader, { 'order/stored': 1 })
    const writer = await program('writer')
    const ids = Array.from({ length: 60 }, (_, i) => i + 1)
    writer.send(
      ...ids.map((id) =>
        publishPacket(['order/stored', 'order/nobody', 'order/retained'][id % 3] ?? '', 'x', {
          id,
          isRetained: id % 3 === 2,
          qos: id % 2 === 0 ? 1 : 2,
        }),
      ),
    )
    const acks: number[] = []
    const receipts: number[] = []
    while (acks.length + receipts.length < ids.length) {
      const { type, body } = await writer.next()
      if (type === PACKET.puback) acks.push(body.readUInt16BE())
      if (type === PACKET.pubrec) receipts.push(body.readUInt16BE())
    }
    assert.deepEqual(
      acks,
      ids.filter((id) => id % 2 === 0),
    )
    assert.deepEqual(
      receipts,
      ids.filter((id) => id % 2 === 1),
    )
    reader.destroy()
    writer.destroy()
  })

  test('when a device asks for the time between its readings', async () => {
    const { hardwareId, client } = await device()
    const ids = Array.from({ length: 60 }, (_, i) => i + 1)
    client.send(
      ...ids.map((id) =>
        id % 2 === 0
          ? publishPacket(`dev/${hardwareId}/tq`, `{"up":${id}}`, { id })
          : publishPacket(`dev/${hardwareId}/tlm`, `{"speed":${id}}`, { id }),
      ),
    )
    await acknowledged(client, ids)
    client.destroy()
  })
})

test('a question for the time is kept like anything else for those who subscribed to it', async () => {
  const { hardwareId, client } = await device()
  const topic = `dev/${hardwareId}/tq`
  const reader = await program('curious', false)
  await subscribe(reader, { [topic]: 1 })
  reader.destroy()
  await reader.closed()
  client.send(publishPacket(topic, '{"up":1}', { isRetained: true }))
  await acknowledged(client, [1])
  client.destroy()
  await gateway.restart()
  const again = await program('curious', false)
  assert.equal((await again.flush()).length, 1)
  await subscribe(again, { 'dev/+/tq': 0 })
  assert.equal((await again.flush()).length, 1)
  again.destroy()
})
