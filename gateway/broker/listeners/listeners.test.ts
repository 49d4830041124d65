import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectSecurely, type TLSSocket } from 'node:tls'
import { Rates } from '#shared/budgets/rates.ts'
import { Slots } from '#shared/budgets/slots.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { createKeyPair } from '#shared/testing/key-pairs.ts'
import { Connections } from './admission.ts'
import { TcpListener } from './tcp.ts'
import { TlsListener } from './tls.ts'

const HOST = '127.0.0.1'
const PAIR = createKeyPair()

/** Opens both listeners with a common limit, and records their events. */
async function openListeners(t: TestContext, { max = 100, handshakeTimeoutMs = 60_000 } = {}) {
  const accepted: Socket[] = []
  const failed: string[] = []
  let dropped = 0
  const connections = new Connections(
    { total: max, perAddress: max },
    {
      halfOpen: new Slots({ perOwner: 1000 }),
      failedLogins: new Rates({ perSecond: 5, burst: 100 }),
    },
  )
  const events = {
    onConnection: (stream: Socket) => {
      stream.on('error', () => undefined)
      accepted.push(stream)
    },
    onHandshakeFailed: (address: string, cause: string) => failed.push(`${address} ${cause}`),
    onDropped: () => dropped++,
  }
  const tcp = new TcpListener({ host: HOST, port: 0, connections }, events)
  const tls = new TlsListener({ host: HOST, port: 0, connections }, events, handshakeTimeoutMs)
  tls.setSecureContext(PAIR)
  await tcp.start()
  await tls.start()
  t.after(async () => {
    await tcp.stop()
    await tls.stop()
    await connections.stop()
  })
  return { tcp, tls, connections, accepted, failed, dropped: () => dropped }
}

async function open(t: TestContext, port: number): Promise<Socket> {
  const socket = connect(port, HOST)
  socket.on('error', () => undefined)
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

async function openSecurely(t: TestContext, port: number): Promise<TLSSocket> {
  const socket = connectSecurely({ host: HOST, port, ca: PAIR.cert })
  socket.on('error', () => undefined)
  t.after(() => socket.destroy())
  await once(socket, 'secureConnect')
  return socket
}

function isClosed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve()
    // an error may precede the close
    socket.resume().once('close', () => resolve())
  })
}

for (const [what, start] of [
  ['never begins', Buffer.alloc(0)],
  ['stops in the middle of a record', Buffer.from([22, 3, 1, 2, 0, 1, 0])],
] as const) {
  test(`a handshake that ${what} times out and frees its place`, async (t) => {
    const { tls, failed, accepted } = await openListeners(t, { max: 1, handshakeTimeoutMs: 50 })
    const socket = await open(t, tls.port)
    socket.write(start)
    await isClosed(socket)
    assert.deepEqual(failed, [`${HOST} ERR_TLS_HANDSHAKE_TIMEOUT`])
    await openSecurely(t, tls.port)
    await eventually(() => accepted.length === 1, 'the next one connected')
  })
}

test('the handshake timeout does not apply after the handshake', async (t) => {
  const { tls, failed, accepted } = await openListeners(t, { handshakeTimeoutMs: 50 })
  const client = await openSecurely(t, tls.port)
  const late = await open(t, tls.port)
  await isClosed(late)
  assert.equal(failed.length, 1)
  await eventually(() => accepted.length === 1, 'connected')
  client.write('still here')
  const [chunk] = await once(accepted[0] ?? assert.fail(), 'data')
  assert.equal(String(chunk), 'still here')
})

test('a failed handshake is reported once with its address, even if the client hung up', async (t) => {
  const { tls, failed } = await openListeners(t)
  const hangsUp = await open(t, tls.port)
  hangsUp.destroy()
  await eventually(() => failed.length === 1, 'the first failure')
  const resets = await open(t, tls.port)
  resets.resetAndDestroy()
  await eventually(() => failed.length === 2, 'the second failure')
  // the client does not know the certificate authority
  const distrusts = connectSecurely({ host: HOST, port: tls.port })
  await assert.rejects(once(distrusts, 'secureConnect'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  await eventually(() => failed.length === 3, 'the third failure')
  const speaksPlainly = await open(t, tls.port)
  speaksPlainly.write('GET / HTTP/1.1\r\n\r\n')
  await isClosed(speaksPlainly)
  assert.deepEqual(failed, [
    `${HOST} ECONNRESET`,
    `${HOST} ECONNRESET`,
    `${HOST} ECONNRESET`,
    `${HOST} ERR_SSL_HTTP_REQUEST`,
  ])
})

test('the limit counts the connections of both ports, including those in a handshake', async (t) => {
  const { tcp, tls, accepted, dropped } = await openListeners(t, { max: 3 })
  const plain = await open(t, tcp.port)
  await openSecurely(t, tls.port)
  const halfOpen = await open(t, tls.port)
  await isClosed(await open(t, tcp.port))
  await isClosed(await open(t, tls.port))
  assert.equal(dropped(), 2)
  plain.destroy()
  halfOpen.destroy()
  accepted[0]?.destroy()
  for (const _ of ['the place of the one', 'and of the other']) {
    const isLetIn = () =>
      openSecurely(t, tls.port).then(
        () => true,
        () => false,
      )
    await eventually(isLetIn, 'room again')
  }
})

test('connections that are open at a stop are closed, in a handshake or not', async (t) => {
  const { tcp, tls, connections, accepted } = await openListeners(t)
  const sockets = [await open(t, tcp.port), await open(t, tls.port), await openSecurely(t, tls.port)]
  await eventually(() => accepted.length === 2, 'all accepted')
  const closed = sockets.map(isClosed)
  await tcp.stop()
  await tls.stop()
  await connections.stop()
  await Promise.all(closed)
  await connections.stop()
})
