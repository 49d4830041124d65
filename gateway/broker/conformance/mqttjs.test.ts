import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { IClientOptions, IClientPublishOptions, ISubscriptionMap, MqttClient } from 'mqtt'
import { eventually } from '#shared/testing/eventually.ts'
import { createKeyPair, KeyPairFolder } from '#shared/testing/key-pairs.ts'
import { startGateway, type TestGateway, TRANSPORTS } from '#testing/start-gateway.ts'

type Qos = 0 | 1 | 2

const ALL_QOS: readonly Qos[] = [0, 1, 2]

let folder: KeyPairFolder
let plain: TestGateway
let secure: TestGateway

before(async () => {
  folder = new KeyPairFolder(createKeyPair())
  plain = await startGateway()
  secure = await startGateway({ ...folder.settings, CARTBARN_MQTTS_PORT: '0' })
})
after(async () => {
  await plain.stop()
  await secure.stop()
  folder.remove()
})

interface Received {
  topic: string
  payload: string
  qos: number
  retain: boolean
}

/** MQTT.js client, and everything it has received. */
interface Listener {
  client: MqttClient
  messages: Received[]
}

/** Expectations of every transport; the scenarios are those of the interoperability suites of Eclipse Paho and EMQ. */
for (const protocol of Object.keys(TRANSPORTS)) {
  describe(`MQTT.js over ${protocol}`, () => {
    const root = protocol
    const gatewayOf = () => (['mqtts', 'wss'].includes(protocol) ? secure : plain)

    const open = async (options: IClientOptions = {}): Promise<Listener> => {
      // checked against the keys of the table
      const client = await gatewayOf().program({
        protocol: protocol as NonNullable<IClientOptions['protocol']>,
        ...options,
      })
      const messages: Received[] = []
      client.on('message', (topic, payload, { qos, retain }) => {
        messages.push({ topic, payload: payload.toString(), qos, retain })
      })
      return { client, messages }
    }

    const received = async ({ messages }: Listener, count: number): Promise<Received[]> => {
      await eventually(() => messages.length >= count, `${count} messages`)
      return messages.splice(0, count)
    }

    /** Publishes on a new connection and waits for the end of the exchange. */
    const publish = async (topic: string, payload: string, options: IClientPublishOptions): Promise<void> => {
      const { client } = await open()
      await client.publishAsync(topic, payload, options)
      await client.endAsync()
    }

    /** Resolves when everything in flight has arrived: a message to itself follows all others. */
    const settled = async (listener: Listener): Promise<void> => {
      const topic = `${root}/settled/${listener.client.options.clientId}`
      await listener.client.subscribeAsync(topic, { qos: 1 })
      await listener.client.publishAsync(topic, '', { qos: 1 })
      await eventually(() => listener.messages.at(-1)?.topic === topic, 'settled')
      listener.messages.pop()
      await listener.client.unsubscribeAsync(topic)
    }

    for (const published of ALL_QOS) {
      for (const granted of ALL_QOS) {
        for (const clean of [true, false]) {
          test(`publishes QoS ${published} to a ${clean ? 'clean' : 'kept'} subscription of QoS ${granted}`, async () => {
            const topic = `${root}/pairs/${published}/${granted}/${clean}`
            const clientId = topic
            const subscriber = await open({ clientId, clean })
            const [grant] = await subscriber.client.subscribeAsync(topic, { qos: granted })
            assert.equal(grant?.qos, granted)
            await publish(topic, 'live', { qos: published })
            const qos = Math.min(published, granted)
            assert.deepEqual(await received(subscriber, 1), [{ topic, payload: 'live', qos, retain: false }])
            await subscriber.client.endAsync()
            await publish(topic, 'missed', { qos: published })
            const again = await open({ clientId, clean })
            await settled(again)
            const kept = { topic, payload: 'missed', qos, retain: false }
            assert.deepEqual(again.messages, clean || qos === 0 ? [] : [kept])
            await again.client.endAsync()
          })
        }
      }
    }

    test('connects, subscribes, publishes with each QoS and disconnects, twice in a row', async () => {
      const topic = `${root}/basic`
      for (let round = 0; round < 2; round++) {
        const listener = await open({ clientId: `${root}-basic` })
        await listener.client.subscribeAsync(topic, { qos: 2 })
        for (const qos of ALL_QOS) await listener.client.publishAsync(topic, `qos ${qos}`, { qos })
        assert.equal((await received(listener, 3)).length, 3)
        await listener.client.endAsync()
      }
    })

    test('receives retained messages of each QoS, and none once they are cleared', async () => {
      const filter = `${root}/retained/+`
      for (const [payload, expected] of [
        ['kept', 3],
        ['', 0],
      ] as const) {
        for (const qos of ALL_QOS) await publish(`${root}/retained/${qos}`, payload, { qos, retain: true })
        // QoS 0 is not acknowledged, so an acknowledged message follows it
        await publish(`${root}/other`, 'x', { qos: 1 })
        const listener = await open()
        await listener.client.subscribeAsync(filter, { qos: 2 })
        const messages = await received(listener, expected)
        assert.ok(messages.every(({ retain, topic, qos }) => retain && topic.endsWith(`${qos}`)))
        await settled(listener)
        assert.deepEqual(listener.messages, [])
      }
    })

    test('is rejected with an empty client id and a kept session, and accepted with a clean one', async () => {
      await assert.rejects(open({ clientId: '', clean: false }), /client ?id|identifier/i)
      const listener = await open({ clientId: '', clean: true })
      assert.equal(listener.client.connected, true)
    })

    test('receives messages published while it was offline, over wildcards', async () => {
      const options = { clientId: `${root}-offline`, clean: false }
      const { client } = await open(options)
      await client.subscribeAsync(`${root}/off/+`, { qos: 2 })
      await client.endAsync()
      for (const qos of ALL_QOS) await publish(`${root}/off/${qos}`, `${qos}`, { qos })
      const again = await open(options)
      await settled(again)
      assert.deepEqual(
        again.messages.map(({ payload, qos }) => [payload, qos]),
        [
          ['1', 1],
          ['2', 2],
        ],
      )
    })

    for (const qos of ALL_QOS) {
      test(`has its will of QoS ${qos} published when it is cut off, and not when it disconnects`, async () => {
        const topic = `${root}/will/${qos}`
        const watcher = await open()
        await watcher.client.subscribeAsync(topic, { qos: 2 })
        const will = { topic, payload: Buffer.from('gone'), qos, retain: false }
        await (await open({ will })).client.endAsync()
        const { client } = await open({ will })
        client.stream.destroy()
        const [message] = await received(watcher, 1)
        assert.deepEqual(message, { topic, payload: 'gone', qos, retain: false })
        await settled(watcher)
        assert.deepEqual(watcher.messages, [])
      })
    }

    test('receives a message of overlapping subscriptions once, with the highest QoS', async () => {
      const listener = await open()
      const filters: ISubscriptionMap = { [`${root}/over/#`]: { qos: 2 }, [`${root}/over/+`]: { qos: 1 } }
      await listener.client.subscribeAsync(filters)
      await publish(`${root}/over/x`, 'x', { qos: 2 })
      assert.equal((await received(listener, 1))[0]?.qos, 2)
      await settled(listener)
      assert.deepEqual(listener.messages, [])
    })

    test('stays connected by its pings', async () => {
      const { client } = await open({ keepalive: 1 })
      let pings = 0
      client.on('packetreceive', ({ cmd }) => {
        if (cmd === 'pingresp') pings++
      })
      await eventually(() => pings >= 2, 'two pings')
      assert.equal(client.connected, true)
    })

    test('receives unacknowledged QoS 1 and 2 messages again after a reconnect', async () => {
      const options = { clientId: `${root}-redelivery`, clean: false }
      const deaf = await open(options)
      await deaf.client.subscribeAsync(`${root}/redelivery/#`, { qos: 2 })
      // processes nothing, so it acknowledges nothing
      deaf.client.handleMessage = () => undefined
      await publish(`${root}/redelivery/1`, 'one', { qos: 1 })
      await publish(`${root}/redelivery/2`, 'two', { qos: 2 })
      await eventually(() => deaf.messages.length >= 1, 'sent')
      deaf.client.stream.destroy()
      const again = await open(options)
      const messages = await received(again, 2)
      assert.deepEqual(messages.map(({ payload }) => payload).sort(), ['one', 'two'])
      await again.client.endAsync()
      const done = await open(options)
      await settled(done)
      assert.deepEqual(done.messages, [])
    })

    test('does not receive $ topics through a wildcard and may not publish to them', async () => {
      const listener = await open()
      await listener.client.subscribeAsync(['+/+/new/clients', '#'], { qos: 0 })
      const { client } = await open()
      await settled(listener)
      assert.ok(listener.messages.every(({ topic }) => !topic.startsWith('$')))
      client.publish('$SYS/x', '', { qos: 1 })
      await eventually(() => !client.connected, 'closed')
    })

    test('receives no more messages once it has unsubscribed', async () => {
      const listener = await open()
      const topics = ['a', 'b', 'c'].map((name) => `${root}/un/${name}`)
      await listener.client.subscribeAsync(topics, { qos: 2 })
      const [first = '', ...others] = topics
      await listener.client.unsubscribeAsync(first)
      for (const topic of topics) await publish(topic, topic, { qos: 1 })
      const messages = await received(listener, 2)
      assert.deepEqual(
        messages.map(({ topic }) => topic),
        others,
      )
      await settled(listener)
      assert.deepEqual(listener.messages, [])
    })

    test('receives an error for a failed subscription and stays connected', async () => {
      const scoped = await gatewayOf().createUser({ allowed_hardware_ids: ['cart-1'] })
      const client = await gatewayOf().program(
        { protocol: protocol as NonNullable<IClientOptions['protocol']> },
        scoped,
      )
      await assert.rejects(client.subscribeAsync('elsewhere', { qos: 2 }))
      assert.equal(client.connected, true)
      const [grant] = await client.subscribeAsync('dev/cart-1/tlm', { qos: 1 })
      assert.equal(grant?.qos, 1)
    })

    test('publishes hundreds of QoS 2 messages without waiting for each', async () => {
      const topic = `${root}/burst`
      const listener = await open()
      await listener.client.subscribeAsync(topic, { qos: 2 })
      const { client } = await open()
      const sent = Array.from({ length: 500 }, (_, i) => `${i}`)
      await Promise.all(sent.map((payload) => client.publishAsync(topic, payload, { qos: 2 })))
      const messages = await received(listener, sent.length)
      assert.deepEqual(
        messages.map(({ payload }) => payload),
        sent,
      )
    })

    test('sends and receives a payload of 64 KiB, byte by byte', async () => {
      const topic = `${root}/large`
      const payload = Buffer.from(Array.from({ length: 65_536 }, (_, i) => i % 256))
      const { client } = await open()
      await client.subscribeAsync(topic, { qos: 1 })
      let got: Buffer | undefined
      client.on('message', (_topic, bytes) => {
        got = bytes
      })
      await client.publishAsync(topic, payload, { qos: 2 })
      await eventually(() => got !== undefined, 'arrived')
      assert.deepEqual(got, payload)
    })
  })
}
