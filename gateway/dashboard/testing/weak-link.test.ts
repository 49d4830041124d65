import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { WeakLink } from './weak-link.ts'

/** Starts an echo server and a link to it. */
async function startEcho(t: TestContext): Promise<WeakLink> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.pipe(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const link = new WeakLink(() => port)
  await link.start()
  t.after(async () => {
    await link.stop()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return link
}

/** Connection that keeps the received data. */
class Caller {
  readonly socket: Socket
  received = ''
  isClosed = false

  constructor(t: TestContext, { url }: WeakLink) {
    this.socket = connect(Number(new URL(url).port), '127.0.0.1')
    this.socket.on('data', (bytes) => (this.received += bytes.toString()))
    this.socket.on('error', () => undefined)
    this.socket.on('close', () => (this.isClosed = true))
    t.after(() => this.socket.destroy())
  }

  async receives(text: string): Promise<void> {
    await eventually(() => this.received === text, `heard ${text}`)
  }
}

test('all sent data arrives, however much it is', async (t) => {
  const caller = new Caller(t, await startEcho(t))
  const text = 'x'.repeat(5_000_000)
  caller.socket.write(text)
  await caller.receives(text)
})

test('a link that is cut ends connections, and new ones, until it is restored', async (t) => {
  const link = await startEcho(t)
  const before = new Caller(t, link)
  before.socket.write('a')
  await before.receives('a')
  link.cut()
  await eventually(() => before.isClosed, 'closed')
  const meanwhile = new Caller(t, link)
  await eventually(() => meanwhile.isClosed, 'refused')
  link.restore()
  const after = new Caller(t, link)
  after.socket.write('b')
  await after.receives('b')
})

test('a frozen link closes no connection and passes no data, and delivers it later', async (t) => {
  const link = await startEcho(t)
  const before = new Caller(t, link)
  before.socket.write('a')
  await before.receives('a')
  link.freeze()
  const meanwhile = new Caller(t, link)
  await once(meanwhile.socket, 'connect')
  await eventually(() => link.connections === 2, 'accepted')
  for (const caller of [before, meanwhile]) caller.socket.write('b')
  // another link to the same server would already have its response
  const other = new Caller(t, await startEcho(t))
  other.socket.write('c')
  await other.receives('c')
  assert.deepEqual([before.received, meanwhile.received], ['a', ''])
  assert.deepEqual([before.isClosed, meanwhile.isClosed], [false, false])
  link.restore()
  await before.receives('ab')
  await meanwhile.receives('b')
})

test('a client that connects while the server is down is rejected', async (t) => {
  const link = new WeakLink(() => {
    throw new Error('not listening')
  })
  await link.start()
  t.after(() => link.stop())
  const caller = new Caller(t, link)
  await eventually(() => caller.isClosed, 'refused')
})
