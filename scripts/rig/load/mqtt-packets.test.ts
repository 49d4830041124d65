import assert from 'node:assert/strict'
import { once } from 'node:events'
import { duplexPair } from 'node:stream'
import { test } from 'node:test'
import { Aedes } from 'aedes'
import { encodeConnect, encodeDisconnect, encodePublish, encodeSubscribe } from './mqtt-packets.ts'

test('a CONNECT without anything optional is the bytes of the standard', () => {
  const packet = encodeConnect({ clientId: 'ab', cleanSession: true, keepAliveS: 60 })
  const expected = [0x10, 14, 0, 4, ...Buffer.from('MQTT'), 4, 0x02, 0, 60, 0, 2, ...Buffer.from('ab')]
  assert.deepEqual([...packet], expected)
})

test('a PUBLISH at QoS 0 has no packet id, at QoS 1 it has', () => {
  const message = { topic: 't', payload: 'p', retain: true, packetId: 515 }
  assert.deepEqual([...encodePublish({ ...message, qos: 0 })], [0x31, 4, 0, 1, 116, 112])
  assert.deepEqual([...encodePublish({ ...message, qos: 1 })], [0x33, 6, 0, 1, 116, 2, 3, 112])
})

test('a length of 128 and more takes two bytes', () => {
  const packet = encodePublish({ topic: 't', payload: 'p'.repeat(200), qos: 0, retain: false, packetId: 0 })
  assert.deepEqual([...packet.subarray(0, 3)], [0x30, 0x80 | (203 % 128), 1])
  assert.equal(packet.length, 3 + 203)
})

test('a goodbye is the two bytes of the standard', () => {
  assert.deepEqual([...encodeDisconnect()], [0xe0, 0])
})

test('a broker understands login, subscription, message and last will', async (t) => {
  const broker = await Aedes.createBroker()
  t.after(() => new Promise<void>((resolve) => broker.close(resolve)))
  const heard: string[] = []
  const willHeard = Promise.withResolvers<void>()
  broker.authenticate = (client, username, password, done) => {
    heard.push(`login ${client.id} ${username} ${password}`)
    done(null, true)
  }
  broker.on('subscribe', (subscriptions) => {
    heard.push(`subscribe ${subscriptions.map((each) => each.topic).join()}`)
  })
  broker.authorizePublish = (_client, packet, done) => {
    heard.push(`publish ${packet.topic} ${packet.qos} ${packet.retain} ${packet.payload}`)
    if (packet.topic === 'dev/a/st') willHeard.resolve()
    done(null)
  }

  const [device, brokerEnd] = duplexPair()
  broker.handle(brokerEnd)
  const will = { topic: 'dev/a/st', payload: '{"online":false}', qos: 1, retain: true } as const
  const login = { clientId: 'a', username: 'a', password: 'secret', cleanSession: false, keepAliveS: 60 }
  device.write(encodeConnect({ ...login, will }))
  await once(device, 'data')
  device.write(encodeSubscribe(2, ['dev/a/cmd', 'dev/a/cfg']))
  await once(device, 'data')
  device.write(encodePublish({ topic: 'dev/a/tlm', payload: '{}', qos: 1, retain: false, packetId: 1 }))
  await once(device, 'data')
  device.destroy()
  brokerEnd.destroy()
  await willHeard.promise

  assert.deepEqual(heard, [
    'login a a secret',
    'subscribe dev/a/cmd,dev/a/cfg',
    'publish dev/a/tlm 1 false {}',
    'publish dev/a/st 1 true {"online":false}',
  ])
})
