import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { MqttClient } from 'mqtt'
import { eventually } from '#shared/testing/eventually.ts'
import { connectPacket, PACKET, publishPacket } from '#testing/mqtt-packets.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'

/** Set CARTBARN_TEST_LONG=1 for many more. */
const ATTEMPTS = process.env.CARTBARN_TEST_LONG === undefined ? 500 : 10_000
const REFUSED = 'cartbarn_mqtt_refused_total'

let gateway: TestGateway
let neighbour: MqttClient
let count = 0
let sent = 0

before(async () => {
  gateway = await startGateway()
  neighbour = await gateway.device('neighbour')
})

after(() => gateway.stop())

/**
 * Checks after every kind of abuse that the other client is served, over MQTT and HTTP, and that the queue is empty.
 */
async function isWell(): Promise<void> {
  const speed = ++sent % 200
  await neighbour.publishAsync('dev/neighbour/tlm', JSON.stringify({ speed }), { qos: 1 })
  const { body } = await gateway.request('GET', '/devices/neighbour')
  assert.equal(body.attributes.speed, speed)
  assert.equal(body.is_online, true)
  assert.equal((await gateway.request('GET', '/health')).status, 200)
  assert.equal(await metric(gateway, 'cartbarn_write_queue_rows'), 0)
}

async function loggedIn(hardwareId = `cart-${++count}`): Promise<{ hardwareId: string; client: RawMqtt }> {
  const password = await gateway.register(hardwareId)
  const client = await RawMqtt.open(gateway.mqtt)
  assert.equal(await client.login({ clientId: hardwareId, username: hardwareId, password }), 0)
  return { hardwareId, client }
}

async function publishAndWait(payload: string | Buffer, level = 'tlm', id?: string) {
  const { hardwareId, client } = await loggedIn(id)
  client.send(publishPacket(`dev/${hardwareId}/${level}`, payload))
  await client.next(PACKET.puback)
  client.destroy()
  const { body } = await gateway.request('GET', `/devices/${hardwareId}/details`)
  return body
}

describe('payloads', () => {
  const LEVELS = ['tlm', 'evt', 'st', 'ack']
  const PAYLOADS: Record<string, string | Buffer> = {
    'half an object': '{"lat":47.1,"long":',
    nothing: '',
    NaN: '{"lat":NaN,"long":Infinity}',
    'numbers beyond all numbers': '{"lat":1e999,"long":-1e999,"speed":1e999,"battery_voltage":1e999,"ts":1e999}',
    'wrong types': '{"lat":"47","long":[],"speed":{},"battery_voltage":"x","lock_status":"yes","ts":"now"}',
    'not UTF-8': Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
    'a byte order mark': '\ufeff{"speed":1}',
    'zero bytes': Buffer.alloc(1_000),
    'brackets 30,000 deep': `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
    'objects 10,000 deep': `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`,
    'deep nesting under a key': `{"speed":1,"deep":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
    'an array of 30,000 numbers': `[${'1,'.repeat(29_999)}1]`,
    'an array of 20,000 empty objects': `[${'{},'.repeat(19_999)}{}]`,
    'five thousand keys': `{${Array.from({ length: 5_000 }, (_, i) => `"k${i}":1`).join(',')}}`,
    'the prototype as a key': '{"__proto__":{"speed":1},"constructor":{"prototype":{"x":1}},"speed":2}',
    'names every object has': '{"constructor":1,"toString":2,"valueOf":3,"hasOwnProperty":4,"__proto__":5,"toJSON":6}',
    'the same key twice': '{"speed":1,"speed":2}',
    'a lone surrogate': '{"note":"\\ud800","speed":1}',
    'control characters': '{"note":"\\u0000\\u001b[2J","speed":1}',
    'an envelope of envelopes': '{"s":[{"s":[{"s":[]}]}],"up":1e300,"boot":{}}',
    'an eid of an object': '[{"eid":{},"event":"lock","source":"key"}]',
    'a status of wrong types': '{"online":1,"fw":[],"type":{}}',
  }
  for (const [name, payload] of Object.entries(PAYLOADS)) {
    test(`${name} is acknowledged on every topic and harms no client`, async () => {
      for (const level of LEVELS) await publishAndWait(payload, level)
      await isWell()
    })
  }

  test('__proto__ and constructor as keys change only the values of that device', async () => {
    const { attributes, dropped } = await publishAndWait(
      '{"__proto__":{"polluted":1},"constructor":"c","toString":"t","hasOwnProperty":"h","speed":2}',
    )
    assert.deepEqual(attributes, { constructor: 'c', toString: 't', hasOwnProperty: 'h', speed: 2 })
    assert.deepEqual(dropped, { invalid_attribute_name: 1 })
    assert.equal(({} as Record<string, unknown>).polluted, undefined)
    assert.equal((await gateway.request('GET', '/devices?attr_constructor=c')).body.devices.length, 1)
    for (const name of ['constructor', 'toString', '__proto__', 'valueOf']) {
      assert.equal((await gateway.request('GET', `/devices?attr_${name}=x`)).status, 200)
    }
  })

  for (const hardwareId of ['constructor', '__proto__', 'toString', 'hasOwnProperty', '...', '-', '0']) {
    test(`a device may be called ${hardwareId}`, async () => {
      const { attributes, is_online } = await publishAndWait('{"speed":1,"battery_voltage":40}', 'tlm', hardwareId)
      assert.deepEqual(attributes, { speed: 1, battery_voltage: 40 })
      assert.equal(typeof is_online, 'boolean')
      const watcher = await gateway.realtime()
      assert.deepEqual((await watcher.subscribe(hardwareId)).denied, [])
      watcher.terminate()
      await gateway.request('DELETE', `/devices/${hardwareId}`)
      await isWell()
    })
  }

  test('made-up attribute names in any number fill neither memory nor the device', async () => {
    const { hardwareId, client } = await loggedIn()
    for (let i = 0; i < 100; i++) {
      const names = Array.from({ length: 32 }, (_, k) => `n${i * 32 + k}`)
      const payload = JSON.stringify(Object.fromEntries(names.map((name) => [name, 1])))
      client.send(publishPacket(`dev/${hardwareId}/tlm`, payload, { id: i + 1 }))
    }
    for (let i = 0; i < 100; i++) await client.next(PACKET.puback)
    const { body } = await gateway.request('GET', `/devices/${hardwareId}`)
    assert.ok(Object.keys(body.attributes).length <= 37)
    client.destroy()
  })

  for (const [what, payload] of [
    ['1 MB', Buffer.alloc(1_048_576, 0x20)],
    ['an array of 100,000 elements', `[${'{},'.repeat(99_999)}{}]`],
    ['random bytes of 200 KB', randomBytes(200_000)],
  ] as const) {
    test(`${what} closes the connection`, async () => {
      const { hardwareId, client } = await loggedIn()
      const refused = await metric(gateway, REFUSED, 'packet_too_large')
      client.send(publishPacket(`dev/${hardwareId}/tlm`, payload))
      assert.equal(await client.nextOrClosed(), null)
      assert.equal(await metric(gateway, REFUSED, 'packet_too_large'), refused + 1)
      await isWell()
    })
  }
})

describe('connections', () => {
  test('a message on an unknown topic, or on that of another device, is not stored', async () => {
    for (const topic of ['dev/neighbour/tlm', 'dev/neighbour/st', 'dev/nobody/tlm', 'x', 'dev/ME/ztlm']) {
      const { hardwareId, client } = await loggedIn()
      client.send(publishPacket(topic.replace('ME', hardwareId), '{"online":false,"lat":1,"long":1}'))
      assert.equal(await client.nextOrClosed(), null)
    }
    await isWell()
    assert.equal((await gateway.request('GET', '/devices/neighbour/gps/latest')).status, 404)
  })

  test('packets a client never sends, and broken ones, end only their own connection', async () => {
    const packets = {
      'a second CONNECT': connectPacket({ clientId: 'x', username: 'x', password: 'x' }),
      CONNACK: Buffer.from([0x20, 2, 0, 0]),
      SUBACK: Buffer.from([0x90, 3, 0, 1, 0]),
      'type 0': Buffer.from([0x00, 0]),
      'type 15': Buffer.from([0xf0, 0]),
      'a length without end': Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff, 0xff]),
      'QoS 3': Buffer.from([0x36, 5, 0, 1, 0x61, 0, 1]),
      'a topic longer than its packet': Buffer.from([0x30, 4, 0xff, 0xff, 0x61, 0x62]),
      'SUBSCRIBE without a topic': Buffer.from([0x82, 2, 0, 1]),
      'SUBSCRIBE with wrong flags': Buffer.from([0x80, 6, 0, 1, 0, 1, 0x61, 0]),
      'a publish to no topic': publishPacket('', '{}'),
    }
    for (const [name, packet] of Object.entries(packets)) {
      const { client } = await loggedIn()
      client.send(packet)
      // an ignored one is as good, as long as the rest continues
      client.send(Buffer.from([0xe0, 0]))
      await client.closed().catch(() => assert.fail(`${name} left the connection open`))
    }
    await isWell()
  })

  test('anything before CONNECT ends the connection', async () => {
    for (const packet of [
      publishPacket('dev/neighbour/tlm', '{}'),
      Buffer.from([0xc0, 0]),
      Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    ]) {
      const client = await RawMqtt.open(gateway.mqtt)
      client.send(packet)
      await client.closed()
    }
    await isWell()
  })

  test('a crowd of idle connections takes nothing from other clients', async () => {
    const ports = [gateway.mqtt, gateway.http].map((url) => Number(new URL(url).port))
    const sockets: Socket[] = []
    for (let i = 0; i < 300; i++) {
      const socket = connect(ports[i % 2] ?? 0, '127.0.0.1')
      socket.on('error', () => undefined)
      await once(socket, 'connect')
      sockets.push(socket)
    }
    await isWell()
    for (const socket of sockets) socket.destroy()
    await isWell()
  })

  test('random bytes to both ports only close their connections', async () => {
    const ports = [gateway.mqtt, gateway.http].map((url) => Number(new URL(url).port))
    const starts = [
      Buffer.alloc(0),
      Buffer.from([0x10]),
      Buffer.from([0x30]),
      Buffer.from([0x82]),
      Buffer.from('GET /'),
    ]
    for (let i = 0; i < 200; i++) {
      const socket = connect(ports[i % 2] ?? 0, '127.0.0.1')
      socket.on('error', () => undefined)
      socket.resume()
      const closed = new Promise((resolve) => socket.on('close', resolve))
      socket.end(Buffer.concat([starts[i % starts.length] ?? Buffer.alloc(0), randomBytes(1 + ((i * 37) % 3_000))]))
      if (i % 20 === 19) await closed
    }
    await isWell()
  })

  test('random bytes after a login only close their connection', async () => {
    const password = await gateway.register('noise')
    const start = connectPacket({ clientId: 'noise', username: 'noise', password })
    for (let i = 0; i < 100; i++) {
      const client = await RawMqtt.open(gateway.mqtt)
      client.send(start, randomBytes(1 + ((i * 53) % 2_000)))
      client.stream.end()
      await client.closed()
    }
    await isWell()
  })
})

test(`${ATTEMPTS} logins with wrong passwords do not keep another client waiting`, async (t) => {
  const password = await gateway.register('target')
  const wrong = connectPacket({ clientId: 'target', username: 'target', password: 'guess' })
  const refused = await metric(gateway, REFUSED, 'bad_credentials')
  const clients = await metric(gateway, 'cartbarn_mqtt_clients')

  const publishOnce = async (): Promise<number> => {
    const startMs = performance.now()
    await neighbour.publishAsync('dev/neighbour/tlm', JSON.stringify({ speed: ++sent % 200 }), { qos: 1 })
    return performance.now() - startMs
  }
  /** Publishes twenty times a second until `isOver`; returns the delay of each acknowledgement. */
  const publishUntil = async (isOver: () => boolean): Promise<number[]> => {
    const delaysMs: number[] = []
    const startMs = performance.now()
    for (let n = 0; !isOver() || n < 20; n++) {
      const pauseMs = startMs + n * 50 - performance.now()
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
      delaysMs.push(await publishOnce())
    }
    return delaysMs
  }
  const p99 = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? 0

  const quiet = await publishUntil(() => true)
  let left = ATTEMPTS
  const attack = async () => {
    while (left-- > 0) {
      const client = await RawMqtt.open(gateway.mqtt)
      client.send(wrong)
      const packet = await client.nextOrClosed()
      if (packet !== null) assert.equal(packet.body[1], 4)
      await client.closed()
    }
  }
  let isOver = false
  const startMs = performance.now()
  const [busy] = await Promise.all([
    publishUntil(() => isOver),
    Promise.all(Array.from({ length: 50 }, attack)).then(() => {
      isOver = true
    }),
  ])
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1)
  t.diagnostic(
    `PUBACK p99: ${p99(quiet).toFixed(1)} ms alone, ${p99(busy).toFixed(1)} ms during ${ATTEMPTS} attempts in ` +
      `${seconds} s`,
  )
  t.diagnostic(`ratio ${(p99(busy) / p99(quiet)).toFixed(1)}`)
  // attackers and the other client share this process with the gateway
  assert.ok(p99(busy) < Math.max(1_000, 20 * p99(quiet)), `p99 ${p99(busy)} ms`)
  const tried = (await metric(gateway, REFUSED, 'bad_credentials')) - refused
  const answeredLate = await metric(gateway, REFUSED, 'too_many_failed_logins')
  assert.equal(tried, ATTEMPTS)
  assert.ok(answeredLate > ATTEMPTS / 2, `${answeredLate} were answered late`)
  // with the right password, the first attempt from the same address succeeds
  const client = await RawMqtt.open(gateway.mqtt)
  assert.equal(await client.login({ clientId: 'target', username: 'target', password }), 0)
  client.destroy()
  await eventually(async () => (await metric(gateway, 'cartbarn_mqtt_clients')) === clients, 'all gone')
  await isWell()
})

test('every received message was stored', async () => {
  const stored = await metric(gateway, 'cartbarn_device_messages_stored_total')
  assert.equal(stored, await metric(gateway, 'cartbarn_device_messages_received_total'))
})
