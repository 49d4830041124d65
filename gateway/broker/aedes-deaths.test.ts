// Cases that end a process with Aedes 1.2.0 and not one with this broker. With a case name as its argument, this file
// is the process that will end.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { eventually } from '#shared/testing/eventually.ts'
import { FrozenStream } from '#testing/frozen-stream.ts'
import { HeldDisk } from '#testing/held-disk.ts'
import { connectPacket, PACKET, publishPacket, subscribePacket } from '#testing/mqtt-packets.ts'
import { OpenBroker } from '#testing/open-broker.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { createHeldMemory, StockAedes } from '#testing/stock-aedes.ts'
import type { SessionJournal } from './mqtt-sessions/sessions.ts'

interface Death {
  run: (side: StockAedes | OpenBroker) => Promise<void>
  /** Fault injected into the persistence of Aedes. */
  fault?: object
  /** Expected cause of the end. */
  reason: RegExp
}

const BROKEN: SessionJournal = {
  load: () => ({ sessions: [], subscriptions: [], queued: [], received: [], retained: [], wills: [] }),
  append: (_changes, _onStored, onRefused) => onRefused('the disk is broken'),
}

async function bringDown(side: StockAedes | OpenBroker, packet: Buffer): Promise<void> {
  const client = await RawMqtt.open(side.url)
  await client.login({ clientId: 'client', clean: false })
  client.send(packet)
  await client.closed()
}

const DEATHS: Record<string, Death> = {
  // mqemitter #204, aedes #193, #553: the queue of a concurrency of 100 is processed recursively
  'a subscriber that fell behind and leaves': {
    run: async (side) => {
      const frozen = new FrozenStream()
      side.handle(frozen)
      frozen.push(Buffer.concat([connectPacket({ clientId: 'frozen' }), subscribePacket({ a: 0 })]))
      await eventually(() => side.connectedClients === 1, 'connected')
      const bystander = await RawMqtt.open(side.url)
      await bystander.login({ clientId: 'bystander' })
      for (let i = 0; i < 10_000; i++) side.publish('a', 'x'.repeat(1000))
      await bystander.flush()
      frozen.destroy()
      await eventually(() => side.connectedClients === 1, 'gone')
      await bystander.flush()
    },
    reason: /Maximum call stack size exceeded/,
  },
  'an error of the store while retained messages are read': {
    run: (side) => bringDown(side, subscribePacket({ a: 1 })),
    fault: {
      createRetainedStreamCombi: () =>
        new Readable({
          read() {
            this.destroy(new Error('the disk is broken'))
          },
        }),
    },
    reason: /the disk is broken/,
  },
  'an error of the store while subscriptions are read': {
    run: (side) => bringDown(side, publishPacket('a', 'x', { isRetained: true })),
    fault: { subscriptionsByTopic: () => Promise.reject(new Error('the disk is broken')) },
    reason: /the disk is broken/,
  },
}

async function die({ run, fault }: Death): Promise<void> {
  const disk = new HeldDisk()
  const side = await StockAedes.start({ disk, memory: Object.assign(createHeldMemory(disk), fault) })
  await run(side)
}

const [, , chosen] = process.argv
if (chosen !== undefined && DEATHS[chosen] !== undefined) {
  await die(DEATHS[chosen])
  process.exit(0)
}

for (const [what, { run, fault, reason }] of Object.entries(DEATHS)) {
  test(`${what}: Aedes ends its process`, async () => {
    const child = spawn(process.execPath, [fileURLToPath(import.meta.url), what], {
      env: { ...process.env, NODE_TEST_CONTEXT: undefined },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: 90_000,
    })
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
    assert.notEqual(code, 0)
    assert.match(stderr, reason)
  })

  test(`${what}: this broker continues`, async (t) => {
    const side = await OpenBroker.start(fault === undefined ? {} : { journal: BROKEN })
    t.after(() => side.stop())
    await run(side)
    const client = await RawMqtt.open(side.url)
    assert.equal(await client.login({ clientId: 'another' }), 0)
    client.send(subscribePacket({ b: 0 }))
    await client.next(PACKET.suback)
    side.publish('b', 'x')
    await client.next(PACKET.publish)
  })
}
