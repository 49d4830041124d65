import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Aedes, type PublishPacket } from 'aedes'
import { DeviceClient, Traffic } from './device-client.ts'

interface Seen {
  readonly topic: string
  readonly text: string
  readonly retain: boolean
}

/** Starts a bare broker on a free port that stores published messages, and lets a test wait for one. */
async function startBroker(t: TestContext) {
  const aedes = await Aedes.createBroker()
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    aedes.handle(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  const seen: Seen[] = []
  aedes.on('publish', (packet: PublishPacket) => {
    if (!packet.topic.startsWith('$')) {
      seen.push({ topic: packet.topic, text: packet.payload.toString(), retain: packet.retain })
    }
  })
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise<void>((resolve) => aedes.close(() => resolve()))
    server.close()
  })
  return {
    aedes,
    seen,
    url: `mqtt://127.0.0.1:${address.port}`,
    breakConnections: () => {
      for (const socket of sockets) socket.destroy()
    },
    async until(text: string): Promise<Seen> {
      for (;;) {
        const found = seen.find((message) => message.text.includes(text))
        if (found !== undefined) return found
        await once(aedes, 'publish')
      }
    },
  }
}

function createClient(t: TestContext, brokerUrl: string) {
  const traffic = new Traffic()
  const received: string[] = []
  const client = new DeviceClient({
    brokerUrl,
    hardwareId: 'tb-1',
    deviceType: 'teebox',
    credentials: { username: 'tb-1', password: 'x', client_id: 'tb-1' },
    qos: 1,
    traffic,
    boot: () => 17,
    onMessage: (topic, payload) => received.push(`${topic} ${payload}`),
  })
  t.after(() => client.sleep())
  return { client, traffic, received }
}

test('a device publishes a retained status, and disconnects cleanly when it goes to sleep', async (t) => {
  const broker = await startBroker(t)
  const { client } = createClient(t, broker.url)
  client.connect()
  const birth = await broker.until('"online":true')
  assert.deepEqual(birth, {
    topic: 'dev/tb-1/st',
    text: '{"online":true,"fw":"2.3.1","type":"teebox","boot":17}',
    retain: true,
  })
  await client.sleep()
  assert.deepEqual(broker.seen.at(-1), {
    topic: 'dev/tb-1/st',
    text: '{"online":false,"r":"sleep"}',
    retain: true,
  })
})

test('a device that loses its signal leaves its last will, and reconnects on request', async (t) => {
  const broker = await startBroker(t)
  const { client } = createClient(t, broker.url)
  client.connect()
  await broker.until('"online":true')
  client.loseSignal()
  assert.equal(client.isConnected, false)
  assert.equal((await broker.until('{"online":false}')).retain, true)
  broker.seen.length = 0
  client.connect()
  await broker.until('"online":true')
  await client.sleep()
})

test('unacknowledged messages are sent again after a lost connection', async (t) => {
  const broker = await startBroker(t)
  const { client, traffic } = createClient(t, broker.url)
  client.connect()
  await broker.until('"online":true')
  let isDead = true
  broker.aedes.authorizePublish = (_, packet, callback) => {
    // the connection breaks while the broker has the message and has not acknowledged it
    if (isDead && packet.topic.endsWith('/tlm')) return broker.breakConnections()
    callback(null)
  }
  const published = client.publish('tlm', '{"speed":1}')
  await once(broker.aedes, 'clientDisconnect')
  isDead = false
  await published
  assert.equal(broker.seen.filter((message) => message.topic === 'dev/tb-1/tlm').length, 1)
  assert.equal(traffic.drops, 1)
  await client.sleep()
  assert.equal(client.inFlight, 0)
  assert.equal(traffic.sent, traffic.acked)
})

test('messages published during a resend survive the next lost connection too', async (t) => {
  const broker = await startBroker(t)
  const { client, traffic } = createClient(t, broker.url)
  client.connect()
  await broker.until('"online":true')
  let breaksLeft = 2
  const published: Promise<void>[] = []
  broker.aedes.authorizePublish = (_, packet, callback) => {
    if (breaksLeft === 0 || !packet.topic.endsWith('/tlm')) return callback(null)
    breaksLeft -= 1
    if (breaksLeft === 0) published.push(client.publish('tlm', '{"speed":2}'))
    broker.breakConnections()
  }
  published.push(client.publish('tlm', '{"speed":1}'))
  await broker.until('{"speed":2}')
  await Promise.all(published)
  const sent = broker.seen.filter((message) => message.topic.endsWith('/tlm')).map((message) => message.text)
  assert.deepEqual(sent, ['{"speed":1}', '{"speed":2}'])
  assert.equal(traffic.lost, 0)
})

test('a device receives its commands and the topics it subscribes to', async (t) => {
  const broker = await startBroker(t)
  const { client, received } = createClient(t, broker.url)
  const subscribed = once(broker.aedes, 'subscribe')
  client.connect()
  await subscribed
  const following = once(broker.aedes, 'subscribe')
  await broker.until('"online":true')
  client.follow('sit/41/sz')
  await following
  const unfollowing = once(broker.aedes, 'unsubscribe')
  const followingOther = once(broker.aedes, 'subscribe')
  client.follow('sit/42/sz')
  await unfollowing
  await followingOther
  for (const topic of ['dev/tb-1/cmd', 'sit/41/sz', 'sit/42/sz', 'dev/tb-2/cmd']) {
    const packet = {
      cmd: 'publish',
      topic,
      payload: Buffer.from('{}'),
      qos: 1,
      retain: false,
      dup: false,
    } as const
    await new Promise<void>((resolve) => broker.aedes.publish(packet, () => resolve()))
  }
  // its own message comes back through the same broker after the others
  await client.publish('tlm', '{}')
  await client.sleep()
  assert.deepEqual(received, ['dev/tb-1/cmd {}', 'sit/42/sz {}'])
})
