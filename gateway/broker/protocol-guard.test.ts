import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createLog } from '#shared/log.ts'
import { connectPacket, connectPacketOf, PACKET, publishPacket, subscribePacket } from '#testing/mqtt-packets.ts'
import { OpenBroker } from '#testing/open-broker.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'

const OWN = 'dev/cart/'
const ILL_FORMED = { 'not UTF-8': [0xff], 'half a surrogate pair': [0xed, 0xa0, 0x80], 'U+0000': [0] }

let gateway: TestGateway
let password: string

before(async () => {
  gateway = await startGateway()
  password = await gateway.register('cart')
})
after(() => gateway.stop())

const violations = () => metric(gateway, 'cartbarn_mqtt_refused_total', 'protocol_violation')

async function login(): Promise<RawMqtt> {
  const client = await RawMqtt.open(gateway.mqtt)
  assert.equal(await client.login({ clientId: 'cart', username: 'cart', password }), 0)
  return client
}

function packet(firstByte: number, ...body: (readonly number[] | string)[]): Buffer {
  const bytes = Buffer.concat(body.map((part) => Buffer.from(part)))
  return Buffer.concat([Buffer.from([firstByte, bytes.length]), bytes])
}

function text(...parts: (readonly number[] | string)[]): number[] {
  const bytes = Buffer.concat(parts.map((part) => Buffer.from(part)))
  return [0, bytes.length, ...bytes]
}

const FORBIDDEN: Record<string, Buffer> = {
  'PUBLISH with the packet identifier 0': publishPacket(`${OWN}tlm`, '{"speed":1}', { id: 0 }),
  'PUBLISH without a packet identifier': packet(0x32, text(`${OWN}tlm`)),
  'PUBLISH with half a packet identifier': packet(0x34, text(`${OWN}tlm`), [1]),
  'SUBSCRIBE with the packet identifier 0': subscribePacket({ [`${OWN}cmd`]: 1 }, 0),
  'SUBSCRIBE without a topic': subscribePacket({}),
  'UNSUBSCRIBE with the packet identifier 0': packet(0xa2, [0, 0], text(`${OWN}cmd`)),
  'UNSUBSCRIBE without a topic': packet(0xa2, [0, 1]),
  'PUBACK without a packet identifier': packet(0x40),
  'PUBREC with half a packet identifier': packet(0x50, [1]),
  'PUBREL with the packet identifier 0': packet(0x62, [0, 0]),
  'PUBCOMP with more than a packet identifier': packet(0x70, [0, 1, 0]),
  'PINGREQ with a body': packet(0xc0, [0]),
  'DISCONNECT with a body': packet(0xe0, [0, 0]),
}

describe('after a login', () => {
  for (const [what, bytes] of Object.entries(FORBIDDEN)) {
    test(`${what} closes the connection and is counted`, async () => {
      const before = await violations()
      const client = await login()
      // the ping must not be read as the missing part
      client.send(bytes, Buffer.from([0xc0, 0]))
      assert.equal(await client.nextOrClosed(), null)
      assert.equal(await violations(), before + 1)
    })
  }

  for (const [what, bytes] of Object.entries(ILL_FORMED)) {
    test(`a topic with ${what} closes the connection`, async () => {
      const before = await violations()
      for (const wrong of [
        packet(0x30, text(OWN, bytes), '{}'),
        packet(0x82, [0, 1], text(OWN, bytes), [1]),
        packet(0xa2, [0, 1], text(OWN, bytes)),
      ]) {
        const client = await login()
        client.send(wrong)
        assert.equal(await client.nextOrClosed(), null)
      }
      assert.equal(await violations(), before + 3)
    })
  }

  test('valid packets get a response', async () => {
    const client = await login()
    client.send(
      publishPacket(`${OWN}tlm`, '', { id: 0xffff }),
      packet(0x62, [0, 9]),
      packet(0x40, [0, 9]),
      packet(0xa2, [0, 1], text('never subscribed')),
      Buffer.from([0xc0, 0]),
    )
    const types = new Set<number>()
    while (types.size < 4) types.add((await client.next()).type)
    assert.deepEqual(types, new Set([PACKET.puback, PACKET.pubcomp, 11, PACKET.pingresp]))
    client.destroy()
  })
})

describe('CONNECT', () => {
  const connectWith = async (bytes: Buffer): Promise<number | null> => {
    const client = await RawMqtt.open(gateway.mqtt)
    client.send(bytes)
    const answer = await client.nextOrClosed()
    client.destroy()
    return answer?.body[1] ?? null
  }
  const start = (flags: number) => [...text('MQTT'), 4, flags, 0, 60]

  test('with bytes after its last field is rejected', async () => {
    const fields = [text('cart'), text('cart'), text(password)]
    assert.equal(await connectWith(packet(0x10, start(0xc2), ...fields)), 0)
    const before = await violations()
    assert.equal(await connectWith(packet(0x10, start(0xc2), ...fields, [0])), null)
    assert.equal(await violations(), before + 1)
  })

  test('with QoS 3 for its last will is rejected', async () => {
    const fields = [text('cart'), text(`${OWN}st`), text('{}'), text('cart'), text(password)]
    assert.equal(await connectWith(packet(0x10, start(0xd6), ...fields)), 0)
    assert.equal(await connectWith(packet(0x10, start(0xde), ...fields)), null)
  })

  for (const [what, bytes] of Object.entries(ILL_FORMED)) {
    test(`with ${what} in the client id or the user name is rejected`, async () => {
      const [right, wrong] = [text('cart'), text('cart', bytes)]
      assert.equal(await connectWith(packet(0x10, start(0xc2), wrong, right, text(password))), null)
      assert.equal(await connectWith(packet(0x10, start(0xc2), right, wrong, text(password))), null)
    })
  }

  test('of MQTT 5 gets its return code, with or without properties', async () => {
    assert.equal(await connectWith(connectPacket({ clientId: 'cart', level: 5 })), 1)
    const withProperties = [...text('MQTT'), 5, 2, 0, 60, 5, 0x11, 0, 0, 0, 9, ...text('cart')]
    assert.equal(await connectWith(packet(0x10, withProperties)), 1)
  })
})

test('the log names a rejected MQTT 5 client and the setting to change', async (t) => {
  const lines: Record<string, unknown>[] = []
  const log = createLog('warn', { write: (line: string) => lines.push(JSON.parse(line)) })
  const side = await OpenBroker.start({ log })
  t.after(() => side.stop())
  const refusal = (clientId: string) => ({
    refused: 'unsupported_protocol',
    address: 'test',
    clientId,
    advice: 'set the MQTT version of this client to 3.1.1',
  })
  const connects: [Buffer, string][] = [
    [connectPacket({ clientId: 'dashboard', level: 5 }), 'dashboard'],
    // with properties, and a client id that is longer than the packet
    [mqtt5Connect(Buffer.from([5, 0x11, 0, 0, 0, 10]), Buffer.from(text('bridge'))), 'bridge'],
    [mqtt5Connect(Buffer.from([0]), Buffer.from([0, 200, 0x78])), ''],
    [mqtt5Connect(Buffer.from([0xff, 0xff, 0xff, 0x7f]), Buffer.from(text('x'))), ''],
    [connectPacket({ clientId: 'older', level: 2 }), ''],
  ]
  for (const [packet, clientId] of connects) {
    lines.length = 0
    const client = await RawMqtt.open(side.url)
    client.send(packet)
    assert.deepEqual([...(await client.next(PACKET.connack)).body], [0, 1])
    const [{ level: _level, time: _time, msg: _msg, ...fields } = {}] = lines
    assert.deepEqual(fields, refusal(clientId))
  }
})

function mqtt5Connect(properties: Buffer, clientId: Buffer): Buffer {
  return connectPacketOf({
    protocolName: 'MQTT',
    level: 5,
    flags: 2,
    keepaliveS: 60,
    payload: [properties, clientId],
  })
}
