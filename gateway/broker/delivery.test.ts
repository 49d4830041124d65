import assert from 'node:assert/strict'
import { duplexPair } from 'node:stream'
import { describe, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import {
  connectPacket,
  PACKET,
  publishPacket,
  type RawPacket,
  readPublish,
  subscribePacket,
} from '#testing/mqtt-packets.ts'
import { connectTo, type OpenBroker, startBroker } from '#testing/open-broker.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'

const COUNT = 300

/** Retains messages of two kilobytes, far more than a connection buffers unread. */
async function retain(side: OpenBroker, qos: number): Promise<void> {
  const writer = await connectTo(side, 'writer')
  for (let i = 0; i < COUNT; i++)
    writer.send(publishPacket(`r/${i}`, `${i}`.padEnd(2000), { qos, id: i + 1, isRetained: true }))
  await writer.flush()
  await eventually(() => side.broker.sessions.retained.size === COUNT, 'all retained')
  writer.destroy()
}

function acknowledgement({ body }: RawPacket): Buffer {
  const at = 2 + body.readUInt16BE(0)
  return Buffer.concat([Buffer.from([0x40, 2]), body.subarray(at, at + 2)])
}

/** Reads `count` messages, and acknowledges those of QoS 1. */
async function read(client: RawMqtt, count: number): Promise<Set<string>> {
  const topics = new Set<string>()
  for (let i = 0; i < count; i++) {
    const packet = await client.next(PACKET.publish)
    topics.add(readPublish(packet).topic)
    if ((packet.flags & 6) === 2) client.send(acknowledgement(packet))
  }
  return topics
}

const FEW = {
  outbox: { inFlight: 10, messages: 50, bytes: 1_048_576 },
  queued: { messages: 1000, bytes: 1_048_576 },
  retained: { messages: 1000, bytes: 1_048_576 },
  expiryDays: 30,
}
const OPTIONS: NonNullable<Parameters<typeof startBroker>[1]> = { options: { sessions: FEW } }

describe('a wildcard subscription delivers every retained message', () => {
  for (const qos of [0, 1]) {
    for (const clean of [true, false]) {
      test(`to a client that reads nothing for a while, QoS ${qos}, clean session ${Number(clean)}`, async (t) => {
        const side = await startBroker(t, OPTIONS)
        await retain(side, qos)
        // a pair of streams within the process buffers 128 KiB, a pair of sockets megabytes
        const [near, far] = duplexPair()
        side.handle(far)
        near.write(Buffer.concat([connectPacket({ clientId: 'reader', clean }), subscribePacket({ 'r/+': qos })]))
        await eventually(() => far.writableLength > 0 || side.broker.sessions.queued.messages > 0, 'begun')
        // it reads on, after all other clients were served
        const bystander = await connectTo(side, 'bystander')
        for (let i = 0; i < 50; i++) await bystander.flush()
        assert.ok(far.writableLength < 200_000, `${far.writableLength} bytes wait`)
        const reader = new RawMqtt(near)
        assert.equal((await read(reader, COUNT)).size, COUNT)
        assert.equal(side.broker.sessions.dropped.get('queue_full'), 0)
        assert.equal(side.broker.sessions.dropped.get('queues_full'), 0)
      })
    }
  }
})

describe('a subscriber without acknowledgements', () => {
  test('receives as many messages as its window holds, and one more for each acknowledgement', async (t) => {
    const side = await startBroker(t, OPTIONS)
    const reader = await connectTo(side, 'reader')
    reader.send(subscribePacket({ a: 1 }))
    await reader.next(PACKET.suback)
    const writer = await connectTo(side, 'writer')
    for (let i = 0; i < 30; i++) writer.send(publishPacket('a', `${i}`, { id: i + 1 }))
    await writer.flush()
    const packets = await reader.flush()
    assert.deepEqual(
      packets.map((packet) => readPublish(packet).payload),
      Array.from({ length: 10 }, (_, i) => `${i}`),
    )
    const [first, second] = packets
    assert.ok(first !== undefined && second !== undefined)
    // clients may acknowledge in any order
    reader.send(acknowledgement(second), acknowledgement(first))
    const more = [await reader.next(PACKET.publish), await reader.next(PACKET.publish)]
    assert.deepEqual(
      more.map((packet) => readPublish(packet).payload),
      ['10', '11'],
    )
  })
})

test('a subscriber that resumes reading gets skipped messages, even if its stream double-counts bytes', async (t) => {
  const side = await startBroker(t)
  const [near, far] = duplexPair()
  // the stream of a WebSocket includes what the socket below it still buffers
  side.broker.handle(far, 'test', { bufferedBytes: () => far.writableLength })
  near.write(Buffer.concat([connectPacket({ clientId: 'reader' }), subscribePacket({ a: 1 })]))
  await eventually(() => side.broker.sessions.match('a', () => true).size > 0, 'subscribed')
  const writer = await connectTo(side, 'writer')
  for (let i = 0; i < 6; i++) {
    writer.send(publishPacket('a', `${i}`.padEnd(40_000), { id: i + 1 }))
    await writer.next(PACKET.puback)
    // it is written, or waits for room
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
  }
  const reader = new RawMqtt(near)
  for (let i = 0; i < 6; i++) {
    assert.equal(readPublish(await reader.next(PACKET.publish)).payload.trim(), `${i}`)
  }
})

test('the read access of an owner is checked once per message, not per subscription', async (t) => {
  let judged = 0
  const canRead = (_owner: string, topic: string) => {
    judged += Number(topic === 'dev/cart-1/tlm')
    return false
  }
  const side = await startBroker(t, { port: { canRead } })
  const filters = { '#': 0, '+/#': 0, 'dev/+/+': 0, 'dev/+/tlm': 1, 'dev/#': 1, '+/+/+': 0 }
  for (let i = 0; i < 50; i++) {
    const curious = await connectTo(side, `curious-${i}`, i % 2 === 0)
    curious.send(subscribePacket(filters))
    await curious.next(PACKET.suback)
  }
  const writer = await connectTo(side, 'writer')
  writer.send(publishPacket('dev/cart-1/tlm', '{}'))
  await writer.next(PACKET.puback)
  // once when it is matched with persistent sessions, and once when it is sent to connected ones
  assert.ok(judged <= 2, `judged ${judged} times`)
})
