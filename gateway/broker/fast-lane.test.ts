import assert from 'node:assert/strict'
import { duplexPair } from 'node:stream'
import { after, before, type TestContext, test } from 'node:test'
import type { BrokerPort, TelemetryRun } from '#domain/broker-port.ts'
import { idOf, PACKET, PINGREQ, publishPacket } from '#testing/mqtt-packets.ts'
import { OpenBroker } from '#testing/open-broker.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'

const TOPIC = 'dev/cart/tlm'

/** Payloads of the device, and the path of each. */
let taken: string[] = []

/** Port that treats payloads beginning with p as plain. */
const port: Partial<BrokerPort<object>> = {
  telemetryTopic: () => TOPIC,
  publishRight: (_login, topic) => (topic === TOPIC ? 'tlm' : undefined),
  receive: (_login, { payload }, _changes, onStored) => {
    taken.push(`slow ${payload}`)
    setImmediate(onStored)
    return 1
  },
  beginRun: (_login, bytes, onStored) => createRun(bytes, onStored),
}

function createRun(bytes: Buffer, onStored: (from: number, count: number) => void): TelemetryRun {
  const places: [from: number, to: number][] = []
  return {
    get rows() {
      return places.length
    },
    add: (from, to) => {
      if (bytes[from] !== 'p'.charCodeAt(0)) return false
      taken.push(`fast ${bytes.toString('utf8', from, to)}`)
      places.push([from, to])
      return true
    },
    startOf: (place) => places[place]?.[0] ?? 0,
    endOf: (place) => places[place]?.[1] ?? 0,
    end: () => {
      setImmediate(() => onStored(0, places.length))
    },
  }
}

let broker: OpenBroker
before(async () => {
  broker = await OpenBroker.start({ port })
})
after(() => broker.stop())

/** Opens a connection on which every write is read as one chunk. */
async function open(t: TestContext): Promise<RawMqtt> {
  const [near, far] = duplexPair()
  broker.handle(far)
  const client = new RawMqtt(near)
  t.after(() => client.destroy())
  assert.equal(await client.login({ clientId: 'cart' }), 0)
  // CONNACK comes shortly before Aedes has handled CONNECT; until then Aedes reads everything
  do {
    client.send(publishPacket(TOPIC, 'plain', { id: 1 }))
    await acknowledged(client, 1)
  } while (taken.at(-1) !== 'fast plain')
  taken = []
  return client
}

async function acknowledged(client: RawMqtt, count: number): Promise<number[]> {
  const ids: number[] = []
  while (ids.length < count) ids.push(idOf(await client.next(PACKET.puback)))
  return ids
}

test('wherever the bytes are cut, messages are taken and acknowledged in order', async (t) => {
  const payloads = ['plain 1', `p${'x'.repeat(200)}`, 'other', 'plain 2', 'plain 3']
  const packets = payloads.map((payload, i) => publishPacket(TOPIC, payload, { id: 255 + i }))
  const bytes = Buffer.concat([packets[0] ?? PINGREQ, PINGREQ, ...packets.slice(1)])
  const client = await open(t)
  for (let at = 1; at < bytes.length; at++) {
    taken = []
    client.send(bytes.subarray(0, at))
    await new Promise(setImmediate)
    client.send(bytes.subarray(at))
    assert.deepEqual(await acknowledged(client, payloads.length), [255, 256, 257, 258, 259])
    assert.deepEqual(
      taken.map((message) => message.slice(5)),
      payloads,
      `cut at ${at}`,
    )
  }
})

test('byte by byte', async (t) => {
  const client = await open(t)
  const packets = [1, 2, 3].map((id) => publishPacket(TOPIC, `plain ${id}`, { id }))
  for (const byte of Buffer.concat(packets)) {
    client.send(Buffer.from([byte]))
    await new Promise(setImmediate)
  }
  assert.deepEqual(await acknowledged(client, 3), [1, 2, 3])
  assert.deepEqual(taken, ['fast plain 1', 'fast plain 2', 'fast plain 3'])
})

test('only a plain PUBLISH of QoS 1 to the own topic is for the lane', async (t) => {
  const client = await open(t)
  const others = [
    publishPacket(TOPIC, 'p QoS 0', { qos: 0 }),
    publishPacket(TOPIC, 'p copy', { isDup: true, id: 1 }),
    publishPacket(TOPIC, 'p retained', { isRetained: true, id: 2 }),
    publishPacket(TOPIC, `p${'x'.repeat(1024)}`, { id: 3 }),
    publishPacket(TOPIC, '', { id: 4 }),
  ]
  client.send(...others)
  await acknowledged(client, 4)
  assert.equal(taken.length, others.length)
  assert.deepEqual([...new Set(taken.map((message) => message.slice(0, 4)))], ['slow'])
  // one byte longer than the limit
  client.send(publishPacket(TOPIC, `p${'x'.repeat(1023)}`, { id: 5 }))
  await acknowledged(client, 1)
  assert.equal(taken.at(-1)?.slice(0, 4), 'fast')
})

test('what comes on the lane keeps a connection alive', async (t) => {
  const client = await open(t)
  const timer = setTimeout(() => undefined)
  clearTimeout(timer)
  // the timer that ends an idle connection is restarted; no other timer is
  const refresh = t.mock.method(Object.getPrototypeOf(timer), 'refresh')
  client.send(publishPacket(TOPIC, 'plain', { id: 1 }))
  await acknowledged(client, 1)
  assert.deepEqual(taken, ['fast plain'])
  assert.equal(refresh.mock.callCount(), 1)
})
