import assert from 'node:assert/strict'
import net from 'node:net'
import { type TestContext, test } from 'node:test'
import { Aedes } from 'aedes'
import { z } from 'zod'
import { listen } from '../listen.ts'
import { LoadClient } from './client.ts'
import { LoadMeter } from './meter.ts'

/** Broker that reports each sample and leaves its acknowledgement to the test. */
async function startBroker(t: TestContext, onSample: (tsMs: number, acknowledge: () => void) => void) {
  const broker = await Aedes.createBroker()
  broker.authorizePublish = (_client, packet, done) => {
    if (!packet.topic.endsWith('/tlm')) return done(null)
    const { ts } = z.object({ ts: z.number() }).parse(JSON.parse(packet.payload.toString()))
    onSample(ts, () => done(null))
  }
  const sockets = new Set<net.Socket>()
  const server = net.createServer((socket) => {
    sockets.add(socket)
    broker.handle(socket)
  })
  const port = await listen(server)
  const cutAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  t.after(() => {
    cutAll()
    server.close()
    broker.close()
  })
  return { port, cutAll }
}

function createClient(port: number, meter: LoadMeter): LoadClient {
  const login = { port, hardwareId: 'cart-7', password: 'secret' }
  const load = { asDevice: true, window: 8, notBeforeMs: 0, keepsJournal: true } as const
  return new LoadClient({ ...login, ...load }, meter)
}

test('what a lost connection left unacknowledged is sent again, and counted once', async (t) => {
  const samples: number[] = []
  const firstTwo = Promise.withResolvers<void>()
  const broker = await startBroker(t, (tsMs, acknowledge) => {
    samples.push(tsMs)
    if (samples.length === 2) firstTwo.resolve()
    if (samples.length > 2) acknowledge()
  })
  const meter = new LoadMeter()
  const client = createClient(broker.port, meter)
  const connected = Promise.withResolvers<void>()
  client.onReady = connected.resolve
  client.connect()
  await connected.promise

  client.publish(1, performance.now())
  client.publish(1, performance.now())
  await firstTwo.promise
  const acknowledged = Promise.withResolvers<void>()
  client.onAcknowledged = () => client.unacknowledged === 0 && acknowledged.resolve()
  broker.cutAll()
  await acknowledged.promise
  client.close()

  const sent = samples.slice(0, 2)
  assert.deepEqual(samples, [...sent, ...sent])
  assert.deepEqual(client.journal, sent)
  const { acknowledged: count, resent, reconnects } = meter.result()
  assert.deepEqual({ count, resent, reconnects }, { count: 2, resent: 2, reconnects: 1 })
})

test('samples of one client never share a millisecond', async (t) => {
  const samples: number[] = []
  const broker = await startBroker(t, (tsMs, acknowledge) => {
    samples.push(tsMs)
    acknowledge()
  })
  const client = createClient(broker.port, new LoadMeter())
  const done = Promise.withResolvers<void>()
  client.onReady = () => client.publish(8, performance.now())
  client.onAcknowledged = () => client.unacknowledged === 0 && done.resolve()
  client.connect()
  await done.promise
  client.close()
  assert.equal(new Set(samples).size, 8)
})

test('a message that finds the buffer full is skipped and counted', () => {
  const meter = new LoadMeter()
  createClient(1, meter).publish(10, performance.now())
  assert.equal(meter.skipped, 2)
})
