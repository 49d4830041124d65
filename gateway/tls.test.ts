import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { get } from 'node:https'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, type TestContext, test } from 'node:test'
import { type ConnectionOptions, connect as connectSecurely, type TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'
import type { MqttClient } from 'mqtt'
import { bareEnvironment } from '#shared/testing/bare-environment.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { createKeyPair, KeyPairFolder } from '#shared/testing/key-pairs.ts'
import { connectPacket, PACKET, publishPacket } from '#testing/mqtt-packets.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { RealtimeClient } from '#testing/realtime-client.ts'
import { metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'

const ENTRY = fileURLToPath(new URL('../scripts/commands/cartbarn.ts', import.meta.url))
const ONE = createKeyPair({ commonName: 'one' })
const TWO = createKeyPair({ commonName: 'two', expiresAtMs: Date.UTC(2080, 0, 1) })
const REFUSED = 'cartbarn_mqtt_refused_total'
const EXPIRES = 'cartbarn_tls_certificate_expiry_timestamp_seconds'

let folder: KeyPairFolder
let gateway: TestGateway
let neighbour: MqttClient
let count = 0
let sent = 0

before(async () => {
  folder = new KeyPairFolder(ONE)
  gateway = await startGateway({ ...folder.settings, CARTBARN_MQTTS_PORT: '0' })
  neighbour = await gateway.connect('neighbour', await gateway.register('neighbour'), { protocol: 'mqtts' })
})

after(async () => {
  await gateway.stop()
  folder.remove()
})

/** Checks that the client that connected before all others is served over TLS, and that the API responds over HTTPS. */
async function isWell(): Promise<void> {
  const speed = ++sent % 200
  await neighbour.publishAsync('dev/neighbour/tlm', JSON.stringify({ speed }), { qos: 1 })
  assert.equal((await gateway.request('GET', '/devices/neighbour')).body.attributes.speed, speed)
  assert.equal(await statusOf('/health'), 200)
}

function statusOf(path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = get(`${gateway.http}${path}`, { ...gateway.trust, agent: false }, (answer: IncomingMessage) => {
      answer.resume()
      resolve(answer.statusCode)
    })
    request.on('error', reject)
  })
}

function portOf(url: string): number {
  return Number(new URL(url).port)
}

async function open(t: TestContext, url: string): Promise<Socket> {
  const socket = connect(portOf(url), '127.0.0.1')
  socket.on('error', () => undefined)
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

function isClosed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve()
    // an error before the close is as good
    socket.resume().once('close', () => resolve())
  })
}

async function openSecurely(url: string, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connectSecurely({ host: '127.0.0.1', port: portOf(url), ...gateway.trust, ...options })
  await once(socket, 'secureConnect')
  return socket
}

/** Returns the name in the certificate that a new client receives on a port. */
async function nameSeen(url: string): Promise<string> {
  const socket = await openSecurely(url, { rejectUnauthorized: false })
  const { CN } = socket.getPeerCertificate().subject
  socket.destroy()
  return String(CN)
}

test('the addresses show which listeners are secure', () => {
  assert.match(gateway.http, /^https:\/\/127\.0\.0\.1:\d+$/)
  assert.match(gateway.mqtts, /^mqtts:\/\/127\.0\.0\.1:\d+$/)
  assert.match(gateway.mqtt, /^mqtt:\/\/127\.0\.0\.1:\d+$/)
})

for (const protocol of ['mqtts', 'ws', 'mqtt'] as const) {
  const way = protocol === 'ws' ? 'wss' : protocol
  test(`a message over ${way} is acknowledged when it is stored`, async () => {
    const hardwareId = `cart-${++count}`
    const password = await gateway.register(hardwareId)
    const client = await gateway.connect(hardwareId, password, { protocol })
    await client.publishAsync(`dev/${hardwareId}/tlm`, '{"battery_voltage":48.5}', { qos: 1 })
    const { body } = await gateway.request('GET', `/devices/${hardwareId}/battery/latest`)
    assert.equal(body.battery_voltage, 48.5)
    await client.endAsync()
  })
}

test('a login and a packet rejected over TCP are also rejected over TLS', async () => {
  const client = await RawMqtt.open(gateway.mqtts, gateway.trust)
  assert.equal(await client.login({ clientId: 'neighbour', username: 'neighbour', password: 'guess' }), 4)
  await client.closed()
  const large = await RawMqtt.open(gateway.mqtts, gateway.trust)
  const password = await gateway.register('large')
  await large.login({ clientId: 'large', username: 'large', password })
  large.send(publishPacket('dev/large/tlm', Buffer.alloc(200_000)))
  await large.closed()
  await isWell()
})

test('a message in many TLS records and many messages in one are both read', async () => {
  const password = await gateway.register('pieces')
  const client = await RawMqtt.open(gateway.mqtts, gateway.trust)
  for (const byte of connectPacket({ clientId: 'pieces', username: 'pieces', password }))
    client.send(Buffer.from([byte]))
  assert.equal((await client.next(PACKET.connack)).body[1], 0)
  const payload = JSON.stringify({ note: 'x'.repeat(200), speed: 1 })
  const packets = Array.from({ length: 300 }, (_, i) => publishPacket('dev/pieces/tlm', payload, { id: i + 1 }))
  client.send(...packets)
  for (let i = 0; i < 300; i++) assert.equal((await client.next(PACKET.puback)).body.readUInt16BE(0), i + 1)
  client.destroy()
})

test('the realtime channel is available over wss', async () => {
  const watcher = await gateway.realtime()
  await watcher.subscribe('neighbour')
  await isWell()
  assert.equal((await watcher.next('device_data')).hardwareId, 'neighbour')
  watcher.terminate()
})

test('a client that does not trust the certificate is not connected', async () => {
  const ca = Buffer.from(createKeyPair().cert)
  const distrust = { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }
  await assert.rejects(RawMqtt.open(gateway.mqtts, { ca }), distrust)
  await assert.rejects(RealtimeClient.open(`${gateway.http.replace('http', 'ws')}/mqtt`, {}, { ca }), distrust)
  await isWell()
})

test('TLS 1.2 and 1.3 are accepted, and no older version', async () => {
  for (const url of [gateway.mqtts, gateway.http]) {
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const socket = await openSecurely(url, { minVersion: version, maxVersion: version })
      assert.equal(socket.getProtocol(), version)
      socket.destroy()
    }
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
    await assert.rejects(openSecurely(url, old), { code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' })
  }
})

test('a connection whose traffic the private key alone could decrypt is rejected', async () => {
  for (const url of [gateway.mqtts, gateway.http])
    for (const ciphers of ['AES128-SHA', 'AES256-SHA256', 'AES128-GCM-SHA256', 'ECDHE-RSA-AES128-SHA'])
      await assert.rejects(openSecurely(url, { maxVersion: 'TLSv1.2', ciphers }), /handshake failure/)
})

const CLIENT_HELLO = Buffer.concat([Buffer.from('16030100fa010000f60303', 'hex'), randomBytes(200)])

for (const [what, bytes] of Object.entries({
  'plain MQTT': connectPacket({ clientId: 'x', username: 'x', password: 'x' }),
  HTTP: Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
  'zero bytes': Buffer.alloc(100),
  'a greeting of garbage': Buffer.concat([CLIENT_HELLO, randomBytes(500)]),
  'a record that is too long': Buffer.concat([Buffer.from([22, 3, 3, 0xff, 0xff]), randomBytes(70_000)]),
  'an alert': Buffer.from([21, 3, 3, 0, 2, 2, 40]),
})) {
  test(`${what} to the TLS port ends that connection and is counted once`, async (t) => {
    const before = await metric(gateway, REFUSED, 'tls_handshake')
    const socket = await open(t, gateway.mqtts)
    socket.write(bytes)
    await isClosed(socket)
    assert.equal(await metric(gateway, REFUSED, 'tls_handshake'), before + 1)
    await isWell()
  })
}

test('a client that hangs up in its handshake is counted', async (t) => {
  const before = await metric(gateway, REFUSED, 'tls_handshake')
  const silent = await open(t, gateway.mqtts)
  silent.end()
  const halfWay = await open(t, gateway.mqtts)
  halfWay.write(CLIENT_HELLO.subarray(0, 50))
  halfWay.resetAndDestroy()
  await eventually(async () => (await metric(gateway, REFUSED, 'tls_handshake')) === before + 2, 'both counted')
  await isWell()
})

test('TLS to the plain port ends that connection', async () => {
  await assert.rejects(openSecurely(gateway.mqtt))
  await isWell()
})

test('plain HTTP and garbage to the HTTPS port end that connection', async (t) => {
  for (const bytes of [Buffer.from('GET /health HTTP/1.1\r\nHost: x\r\n\r\n'), CLIENT_HELLO, randomBytes(300)]) {
    const socket = await open(t, gateway.http)
    socket.end(bytes)
    await isClosed(socket)
  }
  await isWell()
})

test('random bytes inside TLS, and broken records after the handshake, end only that connection', async () => {
  for (let i = 0; i < 40; i++) {
    const inside = await openSecurely(i % 2 === 0 ? gateway.mqtts : gateway.http)
    inside.on('error', () => undefined)
    inside.end(randomBytes(1 + i * 37))
    await isClosed(inside)
    const socket = connect(portOf(i % 2 === 0 ? gateway.mqtts : gateway.http), '127.0.0.1')
    const outside = connectSecurely({ socket, ...gateway.trust })
    outside.on('error', () => undefined)
    await once(outside, 'secureConnect')
    socket.end(randomBytes(1 + i * 37))
    await isClosed(outside)
  }
  await isWell()
})

test('unstarted and unfinished handshakes do not hold up a stop', async (t) => {
  const other = await startGateway({ ...folder.settings, CARTBARN_MQTTS_PORT: '0' })
  const sockets: Socket[] = []
  for (const url of [other.mqtt, other.mqtts, other.http]) {
    sockets.push(await open(t, url))
    const halfWay = await open(t, url)
    halfWay.write(CLIENT_HELLO.subarray(0, 50))
    sockets.push(halfWay)
  }
  const closed = sockets.map(isClosed)
  const startMs = performance.now()
  await other.stop()
  await Promise.all(closed)
  // the handshake and CONNECT each have ten seconds
  assert.ok(performance.now() - startMs < 9_500)
})

test('without plain MQTT devices connect over TLS and WebSocket', async () => {
  const other = await startGateway({ ...folder.settings, CARTBARN_MQTT_PORT: 'off', CARTBARN_MQTTS_PORT: '0' })
  assert.throws(() => other.mqtt)
  const password = await other.register('cart-1')
  for (const protocol of ['mqtts', 'ws'] as const) {
    const client = await other.connect('cart-1', password, { protocol })
    await client.publishAsync('dev/cart-1/tlm', '{"speed":1}', { qos: 1 })
    await client.endAsync()
  }
  await other.stop()
})

test('new clients on both ports see a new certificate, and open connections continue', async (t) => {
  t.after(async () => {
    folder.write(ONE)
    await gateway.reloadCertificate()
  })
  const watcher = await gateway.realtime()
  await watcher.subscribe('neighbour')
  assert.equal(await metric(gateway, EXPIRES), Date.UTC(2099, 0, 1) / 1000)
  folder.write(TWO)
  await gateway.reloadCertificate()
  assert.deepEqual([await nameSeen(gateway.mqtts), await nameSeen(gateway.http)], ['two', 'two'])
  assert.equal(await metric(gateway, EXPIRES), Date.UTC(2080, 0, 1) / 1000)
  await isWell()
  await watcher.next('device_data')
  // the new certificate does not allow anything older than TLS 1.2
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
  await assert.rejects(openSecurely(gateway.mqtts, old), { code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' })
  const client = await gateway.connect('late', await gateway.register('late'), { protocol: 'mqtts' })
  await client.publishAsync('dev/late/tlm', '{"speed":1}', { qos: 1 })
  await client.endAsync()
})

test('a client that resumes its session after the change sees the new certificate', async (t) => {
  t.after(async () => {
    folder.write(ONE)
    await gateway.reloadCertificate()
  })
  const first = connectSecurely({ host: '127.0.0.1', port: portOf(gateway.mqtts), ...gateway.trust })
  const [session] = await once(first, 'session')
  first.destroy()
  const again = await openSecurely(gateway.mqtts, { session })
  assert.equal(again.isSessionReused(), true)
  again.destroy()
  folder.write(TWO)
  await gateway.reloadCertificate()
  const later = await openSecurely(gateway.mqtts, { session })
  assert.equal(later.isSessionReused(), false)
  assert.equal(later.getPeerCertificate().subject.CN, 'two')
  later.destroy()
})

test('a pair that cannot be used leaves the old one in use', async (t) => {
  t.after(() => folder.write(ONE))
  folder.write({ cert: TWO.cert })
  await gateway.reloadCertificate()
  assert.deepEqual([await nameSeen(gateway.mqtts), await nameSeen(gateway.http)], ['one', 'one'])
  folder.write(ONE)
  await isWell()
})

test('without a certificate the metrics have none, and a reload does nothing', async () => {
  const plain = await startGateway()
  assert.doesNotMatch((await plain.request('GET', '/metrics')).body, /tls_certificate/)
  await plain.reloadCertificate()
  await plain.stop()
})

/** Runs the program itself, with its log and its output. */
function run(t: TestContext, settings: Record<string, string>) {
  const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-tls-'))
  const program = spawn(process.execPath, [ENTRY, 'run'], {
    env: bareEnvironment({
      CARTBARN_DATA_DIR: dataDir,
      CARTBARN_HOST: '127.0.0.1',
      CARTBARN_HTTP_PORT: '0',
      CARTBARN_MQTT_PORT: 'off',
      CARTBARN_MQTTS_PORT: '0',
      ...settings,
    }),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 90_000,
  })
  t.after(() => {
    program.kill('SIGKILL')
    rmSync(dataDir, { recursive: true, force: true })
  })
  const log: Record<string, string>[] = []
  createInterface(program.stdout).on('line', (line) => log.push(JSON.parse(line)))
  let output = ''
  program.stderr.on('data', (chunk) => {
    output += chunk
  })
  const logged = async (msg: string, times = 1) => {
    await eventually(() => log.filter((line) => line.msg === msg).length === times, msg)
    return log.findLast((line) => line.msg === msg) ?? assert.fail()
  }
  return { program, logged, output: () => output }
}

test('the program logs its secure addresses, reloads the certificate on SIGHUP, and stops', async (t) => {
  const { program, logged, output } = run(t, folder.settings)
  const { http, mqtt, mqtts } = await logged('listening')
  assert.match(http ?? '', /^https:/)
  assert.match(mqtts ?? '', /^mqtts:/)
  assert.equal(mqtt, undefined)
  await eventually(() => output().includes('Try:'), 'the welcome')
  assert.ok(output().includes(`HTTPS ${http}   MQTT over TLS ${mqtts}\n`))
  assert.ok(output().includes(`curl -k -H "X-API-Key: $KEY" ${http}/devices`))
  program.kill('SIGHUP')
  await logged('the certificate has not changed')
  t.after(() => folder.write(ONE))
  folder.write(TWO)
  program.kill('SIGHUP')
  assert.equal((await logged('certificate loaded', 2)).subject, 'CN=two')
  assert.equal(await nameSeen(mqtts ?? ''), 'two')
  program.kill('SIGTERM')
  assert.deepEqual(await once(program, 'exit'), [0, null])
})

test('a start with a certificate that cannot be used fails and names the setting', async (t) => {
  const { program, logged } = run(t, { ...folder.settings, CARTBARN_TLS_CERT: '/nowhere/cert.pem' })
  const exited = once(program, 'exit')
  assert.match((await logged('not started')).reason ?? '', /^CARTBARN_TLS_CERT: cannot be read: .*nowhere/)
  assert.deepEqual(await exited, [78, null])
})
