import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { sendable, type Traffic, trafficArbitrary } from '#testing/course/device-traffic.ts'
import { idOf, PACKET, publishPacket, type RawPacket, readPublish } from '#testing/mqtt-packets.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { ADMIN_KEY, metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'

// Sends the same traffic through two gateways, one without the fast lane: everything visible must be the same.

const clock = new FakeClock()
let gateways: TestGateway[] = []
let devices = 0

before(async () => {
  const overrides = { clock, isTimeSynchronized: () => false }
  gateways = [await startGateway({}, overrides), await startGateway({}, { ...overrides, hasFastLane: false })]
})
after(() => Promise.all(gateways.map((gateway) => gateway.stop())))

/** Zone of 100 m on the track of the carts. */
const ZONE = {
  type: 'Feature',
  id: 'green',
  geometry: {
    type: 'Polygon',
    coordinates: [[0.101, 0.102].flatMap((long, i) => [i, 1 - i].map((n) => [long, 0.0995 + n / 1000]))],
  },
  properties: { name: 'Green', type: 'stop' },
}

/** Subscriber to the messages of the device: none, a connected program, or one with a queue of its own. */
type Reader = 'nobody' | 'present' | 'kept'

interface Scene {
  traffic: Traffic
  reader: Reader
  qos: 0 | 1 | 2
  isInGroup: boolean
}

const sceneArbitrary: fc.Arbitrary<Scene> = fc.record({
  traffic: trafficArbitrary,
  reader: fc.constantFrom<Reader>('nobody', 'nobody', 'present', 'kept'),
  qos: fc.constantFrom(0, 1, 2),
  isInGroup: fc.boolean(),
})

/** Values that differ between two identical gateways. */
const OWN_NAMES = '_id device_id short_id shortId event_id eventId created_at connectionId'
const OF_ITS_OWN = new Set(OWN_NAMES.split(' '))

function comparable(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, inner: unknown) => (OF_ITS_OWN.has(key) ? undefined : inner)))
}

/** Sent once a second because time passes, independent of single messages. */
const BY_TIME = new Set(['cart', 'alert'])

/**
 * Groups frames by type: the order within a type is fixed, that between types depends on which messages are processed
 * together.
 */
function byType(frames: readonly Frame[]): Record<string, unknown[]> {
  const grouped: Record<string, unknown[]> = {}
  for (const frame of frames.filter(({ type }) => !BY_TIME.has(type))) {
    grouped[frame.type] ??= []
    // a changed device is shown as it is after all messages that were stored together
    const { firmware } = frame.device ?? {}
    grouped[frame.type]?.push(comparable(frame.type === 'device_changed' ? { firmware } : frame))
  }
  return grouped
}

interface Frame {
  type: string
  device?: { firmware?: string }
}

/** Counters of device traffic, without those of the end of a connection, which vary. */
async function counters(gateway: TestGateway): Promise<Record<string, number>> {
  const { body } = await gateway.request('GET', '/metrics')
  const isCounted = /^cartbarn_(device_messages|dropped|mqtt_received_(messages|packets|bytes)|unverified)[a-z_]*total/
  const lines: string[] = body.split('\n')
  return Object.fromEntries(
    lines
      .filter((line) => isCounted.test(line) && !line.includes('by_way'))
      .map((line) => {
        const at = line.lastIndexOf(' ')
        return [line.slice(0, at), Number(line.slice(at + 1))] as const
      }),
  )
}

function difference(now: Record<string, number>, then: Record<string, number>): Record<string, number> {
  const changed = Object.entries(now).map(([name, count]) => [name, count - (then[name] ?? 0)] as const)
  return Object.fromEntries(changed.filter(([, count]) => count !== 0))
}

/** Plays a scene and returns everything visible. */
async function play(gateway: TestGateway, hardwareId: string, scene: Scene) {
  const password = await gateway.register(hardwareId)
  if (scene.isInGroup) await joinCourse(gateway, hardwareId)
  const program = await openReader(gateway, hardwareId, scene)
  const live = await gateway.realtime()
  await live.subscribe(hardwareId)
  const countersThen = await counters(gateway)
  const answers = await send(gateway, { hardwareId, password }, scene.traffic)
  // queued for the disk after everything that was sent
  await gateway.request('POST', '/groups', { body: { name: 'Last' } })
  const delivered = await program?.finish()
  const frames = byType(await live.flush())
  live.terminate()
  const counted = difference(await counters(gateway), countersThen)
  // the number of bytes read after the end of a connection is random
  if (!answers.isWhole) delete counted.cartbarn_mqtt_received_bytes_total
  const found: Record<string, unknown> = {}
  const lists = ['', '/gps?limit=1000', '/battery?limit=1000', '/details', '/telemetry/stats']
  const paths = [
    ...lists.map((path) => `/devices/${hardwareId}${path}`),
    `/lock-events?hardware_id=${hardwareId}`,
    `/geofence-events?hardware_id=${hardwareId}`,
  ]
  for (const path of paths) found[path] = comparable((await gateway.request('GET', path)).body)
  return { answers, delivered, frames, counted, found }
}

async function joinCourse(gateway: TestGateway, hardwareId: string): Promise<void> {
  const group = await gateway.request('POST', '/groups', { body: { name: 'Course' } })
  const path = `/groups/${group.body.group_id}`
  const body = { type: 'FeatureCollection', features: [ZONE] }
  assert.equal((await gateway.request('PUT', `${path}/geofences`, { body })).status, 200)
  assert.equal((await gateway.request('PUT', `${path}/devices/${hardwareId}`)).status, 200)
}

async function openReader(gateway: TestGateway, hardwareId: string, { reader, qos }: Scene) {
  if (reader === 'nobody') return undefined
  const program = await RawMqtt.open(gateway.mqtt)
  const [clientId, username] = [`reader-of-${hardwareId}`, await gateway.adminId()]
  const code = await program.login({ clientId, username, password: ADMIN_KEY, clean: reader === 'present' })
  assert.equal(code, 0)
  await program.subscribe({ [`dev/${hardwareId}/tlm`]: qos })
  return {
    finish: async () => {
      const packets = await program.flush()
      program.destroy()
      const messages = packets.filter(({ type }) => type === PACKET.publish).map(readPublish)
      return messages.map(({ payload, qos: sentQos }) => [payload, sentQos])
    },
  }
}

/**
 * Sends portion by portion; returns the received packets: all on a connection that lasts, else those that came in time.
 */
async function send(
  gateway: TestGateway,
  { hardwareId, password }: { hardwareId: string; password: string },
  traffic: Traffic,
): Promise<{ isWhole: boolean; packets: string[] }> {
  const device = await RawMqtt.open(gateway.mqtt)
  assert.equal(await device.login({ clientId: hardwareId, username: hardwareId, password }), 0)
  const packets: RawPacket[] = []
  const take = async (count: number): Promise<boolean> => {
    while (packets.length < count) {
      const packet = await device.nextOrClosed()
      if (packet === null) return false
      packets.push(packet)
    }
    return true
  }
  let expected = 0
  let isWhole = true
  for (const { portions, answers } of sendable(traffic, hardwareId, clock.nowMs())) {
    for (const portion of portions) {
      device.send(portion)
      await new Promise(setImmediate)
    }
    expected += answers ?? 0
    isWhole = answers !== null && (await take(expected))
    if (!isWhole) break
  }
  if (isWhole && traffic.isEnded) device.send(...lastWords(hardwareId, expected))
  if (!isWhole || traffic.isEnded) {
    device.stream.end()
    await take(Number.POSITIVE_INFINITY)
    isWhole = false
  }
  device.destroy()
  const isAway = async () => (await gateway.request('GET', `/devices/${hardwareId}`)).body.is_online === false
  await eventually(isAway, 'the gateway notices that the device is gone')
  // in the order of the messages for each QoS [MQTT-4.6.0-2] [MQTT-4.6.0-3]; in any order between them
  const inOrder = packets.sort((a, b) => a.type - b.type)
  return { isWhole, packets: inOrder.map(({ type, body }) => `${type} ${body.toString('hex')}`) }
}

/** Messages after which the device disconnects without waiting for acknowledgements. */
function lastWords(hardwareId: string, firstId: number): Buffer[] {
  const payload = (i: number) => JSON.stringify({ ts: clock.nowMs() + i, speed: i })
  return Array.from({ length: 9 }, (_, i) =>
    publishPacket(`dev/${hardwareId}/tlm`, payload(i), { id: firstId + i + 1 }),
  )
}

function acknowledgedIn(packets: readonly string[]): string[] {
  return packets.filter((packet) => packet.startsWith(`${PACKET.puback} `))
}

function isBeginning(some: readonly string[], all: readonly string[]): boolean {
  return some.every((packet, i) => packet === all[i])
}

test('the fast lane changes nothing but the speed', async () => {
  await fc.assert(
    fc.asyncProperty(sceneArbitrary, async (scene) => {
      clock.advance(3_600_000)
      const hardwareId = `cart-${++devices}`
      const [first, second] = await Promise.all(gateways.map((gateway) => play(gateway, hardwareId, scene)))
      assert.ok(first !== undefined && second !== undefined)
      const { answers: fast, ...seen } = first
      const { answers: slow, ...expected } = second
      assert.deepEqual(seen, expected)
      // an ended connection received the packets that were ready by then
      if (fast.isWhole) assert.deepEqual(fast.packets, slow.packets)
      else {
        const [fastAcks, slowAcks] = [acknowledgedIn(fast.packets), acknowledgedIn(slow.packets)]
        assert.ok(isBeginning(fastAcks, slowAcks) || isBeginning(slowAcks, fastAcks))
      }
    }),
    { numRuns: Number(process.env.CARTBARN_TEST_RUNS ?? 40), endOnFailure: true },
  )
  const name = 'cartbarn_mqtt_received_messages_by_way_total'
  const [lane, aedes] = await Promise.all(gateways.map((gateway) => metric(gateway, name, 'fast')))
  assert.ok((lane ?? 0) > 0, `${lane} messages took the fast lane`)
  assert.equal(aedes, 0)
})

const WAY = 'cartbarn_mqtt_received_messages_by_way_total'

/** Returns one reading, later for each higher number. */
function reading(hardwareId: string, n: number, fields: Record<string, unknown> = {}): Buffer {
  const payload = { ts: clock.nowMs() + n, lat: 0.1, long: 0.1, ...fields }
  return publishPacket(`dev/${hardwareId}/tlm`, JSON.stringify(payload), { id: n })
}

async function openDevice(gateway: TestGateway, hardwareId: string): Promise<RawMqtt> {
  const password = await gateway.register(hardwareId)
  const device = await RawMqtt.open(gateway.mqtt)
  assert.equal(await device.login({ clientId: hardwareId, username: hardwareId, password }), 0)
  return device
}

async function takePubacks(device: RawMqtt, count: number): Promise<number[]> {
  const ids: number[] = []
  while (ids.length < count) ids.push(idOf(await device.next(PACKET.puback)))
  return ids
}

test('a program with a persistent session slows down the device it reads, and no other', async () => {
  const [gateway] = gateways
  assert.ok(gateway !== undefined)
  const hardwareIds = [`cart-${++devices}`, `cart-${++devices}`]
  const [read, other] = await Promise.all(hardwareIds.map((id) => openDevice(gateway, id)))
  assert.ok(read !== undefined && other !== undefined)
  const program = await gateway.program({ clean: false })
  await program.subscribeAsync(`dev/${hardwareIds[0]}/tlm`, { qos: 1 })
  for (const [device, i, way] of [[read, 0, 'slow'] as const, [other, 1, 'fast'] as const]) {
    const before = await metric(gateway, WAY, way)
    device.send(...[1, 2, 3].map((n) => reading(hardwareIds[i] ?? '', n)))
    assert.deepEqual(await takePubacks(device, 3), [1, 2, 3])
    assert.equal((await metric(gateway, WAY, way)) - before, 3)
    device.destroy()
  }
})

test('a message the store rejects ends the connection, and the rest of its batch is stored', async () => {
  for (const gateway of gateways) {
    const db = new Database(join(gateway.config.dataDir, 'cartbarn.db'))
    // 66,600 in the column of speeds
    db.exec(`CREATE TRIGGER refuse_speed BEFORE INSERT ON telemetry_log WHEN instr(new.samples, x'28040100') > 0
      BEGIN SELECT RAISE(ABORT, 'refused'); END`)
    const hardwareId = `cart-${++devices}`
    const device = await openDevice(gateway, hardwareId)
    const speeds = [1, 2, 66.6, 4, 5]
    device.send(...speeds.map((speed, i) => reading(hardwareId, i + 1, { speed })))
    await device.closed()
    const stored = () => gateway.request('GET', `/devices/${hardwareId}/gps?order=asc`)
    await eventually(async () => (await stored()).body.length === 4, 'the others are stored')
    db.exec('DROP TRIGGER refuse_speed')
    db.close()
    const found = (await stored()).body.map(({ speed }: { speed: number }) => speed)
    assert.deepEqual(found.sort(), [1, 2, 4, 5])
    assert.equal(await metric(gateway, 'cartbarn_mqtt_refused_total', 'not_stored'), 1)
  }
})
