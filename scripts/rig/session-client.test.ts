import assert from 'node:assert/strict'
import net from 'node:net'
import { type TestContext, test } from 'node:test'
import { generate, type Packet, parser } from 'mqtt-packet'
import { eventually } from '#shared/testing/eventually.ts'
import { listen } from './listen.ts'
import { SessionClient } from './session-client.ts'

/** Connection as a broker sees it: the test gives every response, including those that no broker would give. */
class Peer {
  readonly #socket: net.Socket
  readonly #packets: Packet[] = []

  constructor(socket: net.Socket) {
    this.#socket = socket
    const packets = parser({ protocolVersion: 4 })
    packets.on('packet', (packet) => this.#packets.push(packet))
    socket.on('data', (chunk) => packets.parse(chunk))
    socket.on('error', () => undefined)
  }

  async next(): Promise<Packet> {
    await eventually(() => this.#packets.length > 0, 'a packet')
    return this.#packets.shift() ?? assert.fail()
  }

  say(...packets: Packet[]): void {
    for (const packet of packets) this.#socket.write(generate(packet))
  }

  hangUp(): void {
    this.#socket.destroy()
  }
}

async function open(t: TestContext) {
  const waiting: Peer[] = []
  const server = net.createServer((socket) => waiting.push(new Peer(socket)))
  const port = await listen(server)
  const client = new SessionClient({ port, clientId: 'c', username: 'u', password: 'p', isPersistent: true })
  t.after(() => {
    client.goOffline('abruptly')
    server.close()
  })
  client.goOnline()
  /** The next connection, with its session. */
  const accept = async (sessionPresent: boolean) => {
    await eventually(() => waiting.length > 0, 'a connection')
    const peer = waiting.shift() ?? assert.fail()
    assert.equal((await peer.next()).cmd, 'connect')
    peer.say({ cmd: 'connack', returnCode: 0, sessionPresent })
    return peer
  }
  return { client, accept }
}

const message = { topic: 't', payload: '1', retain: false }

test('what was not acknowledged comes again as a copy; what was taken is only let go', async (t) => {
  const { client, accept } = await open(t)
  const acknowledged: string[] = []
  client.onAcknowledged = ({ payload }) => acknowledged.push(payload)
  client.publish({ ...message, payload: 'once', qos: 1 })
  client.publish({ ...message, payload: 'exactly', qos: 2 })
  const first = await accept(false)
  for (const id of [1, 2]) {
    const packet = await first.next()
    assert.ok(packet.cmd === 'publish' && !packet.dup && packet.messageId === id)
  }
  first.say({ cmd: 'pubrec', messageId: 2 })
  assert.equal((await first.next()).cmd, 'pubrel')
  first.hangUp()

  const second = await accept(true)
  const [copy, release] = [await second.next(), await second.next()]
  assert.ok(copy.cmd === 'publish' && copy.dup && copy.messageId === 1)
  assert.ok(release.cmd === 'pubrel' && release.messageId === 2)
  assert.deepEqual(acknowledged, [])
  second.say({ cmd: 'pubcomp', messageId: 2 }, { cmd: 'puback', messageId: 1 })
  await eventually(() => client.unacknowledged === 0, 'all acknowledged')
  assert.deepEqual(acknowledged, ['exactly', 'once'])
  assert.equal(client.lostSessions, 0)
})

test('a message of QoS 2 that comes again before it is let go is the same one, afterwards another', async (t) => {
  const { client, accept } = await open(t)
  let delivered = 0
  client.onDelivery = () => delivered++
  const delivery: Packet = { cmd: 'publish', qos: 2, dup: false, messageId: 7, ...message }
  const first = await accept(false)
  first.say(delivery)
  assert.equal((await first.next()).cmd, 'pubrec')
  first.hangUp()

  const second = await accept(true)
  second.say({ ...delivery, dup: true }, { cmd: 'pubrel', messageId: 7 }, delivery)
  const answers = [await second.next(), await second.next(), await second.next()]
  assert.deepEqual(
    answers.map(({ cmd }) => cmd),
    ['pubrec', 'pubcomp', 'pubrec'],
  )
  assert.equal(delivered, 2)
})

test('a broker that forgot the session is noticed', async (t) => {
  const { client, accept } = await open(t)
  const first = await accept(false)
  await eventually(() => client.isReady, 'the session')
  assert.equal(client.lostSessions, 0)
  first.hangUp()
  await accept(false)
  await eventually(() => client.lostSessions === 1, 'the loss')
})
