import assert from 'node:assert/strict'
import { once } from 'node:events'
import { duplexPair } from 'node:stream'
import { test } from 'node:test'
import { Aedes } from 'aedes'
import {
  acknowledgement,
  connectPacket,
  cutPackets,
  DISCONNECT,
  idOf,
  PACKET,
  PINGREQ,
  publishPacket,
  readPublish,
  subscribeAllPacket,
} from './mqtt-packets.ts'

test('a CONNECT without anything optional is the bytes of the standard', () => {
  const packet = connectPacket({ clientId: 'ab' })
  const expected = [0x10, 14, 0, 4, ...Buffer.from('MQTT'), 4, 0x02, 0, 60, 0, 2, ...Buffer.from('ab')]
  assert.deepEqual([...packet], expected)
})

test('a PUBLISH at QoS 0 has no packet id, at QoS 1 it has', () => {
  const message = (qos: number) => [...publishPacket('t', 'p', { qos, id: 515, isRetained: true })]
  assert.deepEqual(message(0), [0x31, 4, 0, 1, 116, 112])
  assert.deepEqual(message(1), [0x33, 6, 0, 1, 116, 2, 3, 112])
})

test('a length of 128 and more takes two bytes', () => {
  const packet = publishPacket('t', 'p'.repeat(200), { qos: 0 })
  assert.deepEqual([...packet.subarray(0, 3)], [0x30, 0x80 | (203 % 128), 1])
  assert.equal(packet.length, 3 + 203)
})

test('a goodbye is the two bytes of the standard', () => {
  assert.deepEqual([...DISCONNECT], [0xe0, 0])
})

test('a broker understands login, subscription, message and last will', async (t) => {
  const broker = await Aedes.createBroker()
  t.after(() => new Promise<void>((resolve) => broker.close(resolve)))
  const received: string[] = []
  const willReceived = Promise.withResolvers<void>()
  broker.authenticate = (client, username, password, done) => {
    received.push(`login ${client.id} ${username} ${password}`)
    done(null, true)
  }
  broker.on('subscribe', (subscriptions) => {
    received.push(`subscribe ${subscriptions.map((each) => each.topic).join()}`)
  })
  broker.authorizePublish = (_client, packet, done) => {
    received.push(`publish ${packet.topic} ${packet.qos} ${packet.retain} ${packet.payload}`)
    if (packet.topic === 'dev/a/st') willReceived.resolve()
    done(null)
  }

  const [device, brokerEnd] = duplexPair()
  broker.handle(brokerEnd)
  const will = { topic: 'dev/a/st', payload: '{"online":false}' }
  device.write(connectPacket({ clientId: 'a', username: 'a', password: 'secret', clean: false, will }))
  await once(device, 'data')
  device.write(subscribeAllPacket(['dev/a/cmd', 'dev/a/cfg'], 1, 2))
  await once(device, 'data')
  device.write(publishPacket('dev/a/tlm', '{}'))
  await once(device, 'data')
  device.destroy()
  brokerEnd.destroy()
  await willReceived.promise

  assert.deepEqual(received, [
    'login a a secret',
    'subscribe dev/a/cmd,dev/a/cfg',
    'publish dev/a/tlm 1 false {}',
    'publish dev/a/st 1 true {"online":false}',
  ])
})

test('a SUBSCRIBE carries its packet id and each filter at QoS 1', () => {
  assert.deepEqual([...subscribeAllPacket(['a', 'b'], 1, 258)], [0x82, 10, 1, 2, 0, 1, 97, 1, 0, 1, 98, 1])
})

test('what was received is cut into packets wherever it ends', () => {
  const long = publishPacket('t', 'p'.repeat(200), { id: 7, isDup: true })
  const bytes = Buffer.concat([acknowledgement(PACKET.pubrel, 515), long, PINGREQ])
  for (let end = 0; end <= bytes.length; end++) {
    const first = cutPackets(bytes.subarray(0, end))
    const second = cutPackets(Buffer.concat([first.rest, bytes.subarray(end)]))
    const [release, message, ping, ...more] = [...first.packets, ...second.packets]
    assert.ok(release !== undefined && message !== undefined && ping !== undefined)
    assert.deepEqual([release.type, release.flags, idOf(release)], [PACKET.pubrel, 2, 515])
    const { payload, ...header } = readPublish(message)
    assert.deepEqual(header, { topic: 't', qos: 1, id: 7, isDup: true, isRetained: false })
    assert.equal(payload.length, 200)
    assert.equal(ping.type, PACKET.pingreq)
    assert.deepEqual([more, second.rest.length], [[], 0])
  }
})
