import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import type { MqttClient } from 'mqtt'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { toIso } from '#shared/time.ts'
import { PACKET, publishPacket } from '#testing/mqtt-packets.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'

const clock = new FakeClock()
const NOW = clock.nowMs()
const MINUTE = 60_000
const HOUR = 60 * MINUTE

let gateway: TestGateway
let count = 0

before(async () => {
  gateway = await startGateway({}, { clock })
})
after(() => gateway.stop())

interface GpsRecord {
  timestamp: string
  lat: number
  long: number
  speed?: number
}

interface BatteryRecord {
  timestamp: string
  battery_voltage: number
}

/** A connected device of its own for each test, with its data read over HTTP. */
class Cart {
  readonly hardwareId: string
  readonly client: MqttClient

  private constructor(hardwareId: string, client: MqttClient) {
    this.hardwareId = hardwareId
    this.client = client
  }

  static async connect(): Promise<Cart> {
    const hardwareId = `cart-${++count}`
    return new Cart(hardwareId, await gateway.device(hardwareId))
  }

  /** Resolves when the message is acknowledged, that is stored and published. */
  async send(level: string, payload: unknown): Promise<void> {
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : JSON.stringify(payload)
    await this.client.publishAsync(`dev/${this.hardwareId}/${level}`, bytes, { qos: 1 })
  }

  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  async get(path = ''): Promise<any> {
    const { status, body } = await gateway.request('GET', `/devices/${this.hardwareId}${path}`)
    assert.equal(status, 200)
    return body
  }

  /** Minutes before NOW, latitude, longitude and speed, oldest first. */
  async gps(): Promise<unknown[][]> {
    const records: GpsRecord[] = await this.get('/gps?limit=10000&order=asc')
    return records.map(({ timestamp, lat, long, speed }) => [ago(timestamp), lat, long, speed])
  }

  async battery(): Promise<unknown[][]> {
    const records: BatteryRecord[] = await this.get('/battery?limit=10000&order=asc')
    return records.map(({ timestamp, battery_voltage }) => [ago(timestamp), battery_voltage])
  }

  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  async lockEvents(): Promise<any[]> {
    const { body } = await gateway.request('GET', `/lock-events?hardware_id=${this.hardwareId}`)
    return body.events
  }
}

function ago(timestamp: string): number {
  return (NOW - Date.parse(timestamp)) / MINUTE
}

interface Stored {
  gps?: unknown[][]
  battery?: unknown[][]
  attributes?: Record<string, unknown>
  dropped?: Record<string, number>
}

type Case = [name: string, payload: unknown, stored?: Stored]

const HERE = { lat: 47.5, long: 19.25 }

const FORMS: Case[] = [
  [
    'one object without a time is of now',
    { ...HERE, speed: 12.5, battery_voltage: 48.1 },
    {
      gps: [[0, 47.5, 19.25, 12.5]],
      battery: [[0, 48.1]],
      attributes: { ...HERE, speed: 12.5, battery_voltage: 48.1 },
    },
  ],
  ['a position without a speed has none in history', HERE, { gps: [[0, 47.5, 19.25, undefined]], attributes: HERE }],
  ['a speed alone makes no record', { speed: 3 }, { attributes: { speed: 3 } }],
  [
    'null is no news',
    { lat: null, long: null, speed: null, battery_voltage: 40, lock_status: null, temp: null, ts: null },
    { battery: [[0, 40]], attributes: { battery_voltage: 40 } },
  ],
  [
    'an array is a batch',
    [
      { ts: NOW - 2 * MINUTE, ...HERE },
      { ts: NOW - MINUTE, battery_voltage: 40 },
      { ts: NOW, lat: 48, long: 20 },
    ],
    {
      gps: [
        [2, 47.5, 19.25, undefined],
        [0, 48, 20, undefined],
      ],
      battery: [[1, 40]],
      attributes: { lat: 48, long: 20, battery_voltage: 40 },
    },
  ],
  ['an empty array says nothing', []],
  ['an empty object says nothing', {}],
  ['an envelope without samples says nothing', { boot: 1, up: 5, s: [] }],
  [
    'what is no object in a batch is counted, the rest taken',
    [1, 'two', null, [3], { battery_voltage: 40 }],
    { battery: [[0, 40]], attributes: { battery_voltage: 40 }, dropped: { not_an_object: 4 } },
  ],
  [
    'an envelope gives the time by the time since boot, or by a stamp',
    {
      boot: 17,
      up: 90 * MINUTE,
      s: [
        { up: 81 * MINUTE, battery_voltage: 41 },
        { ts: NOW - 5 * MINUTE, battery_voltage: 42 },
        { up: 90 * MINUTE, battery_voltage: 43 },
      ],
    },
    {
      battery: [
        [9, 41],
        [5, 42],
        [0, 43],
      ],
      attributes: { battery_voltage: 43 },
    },
  ],
  [
    'of an earlier boot only what is stamped is taken',
    {
      boot: 17,
      up: 90 * MINUTE,
      s: [
        { boot: 16, up: 80 * MINUTE, battery_voltage: 41 },
        { boot: 16, up: 80 * MINUTE, ts: NOW - 5 * MINUTE, battery_voltage: 42 },
        { boot: 17, up: 89 * MINUTE, battery_voltage: 43 },
      ],
    },
    {
      battery: [
        [5, 42],
        [1, 43],
      ],
      attributes: { battery_voltage: 43 },
      dropped: { earlier_boot: 1 },
    },
  ],
  [
    'a time since boot that cannot be is discarded',
    {
      boot: 1,
      up: MINUTE,
      s: [
        { up: 7 * MINUTE, speed: 1 },
        { up: 'soon', speed: 2 },
        { up: 6 * MINUTE, battery_voltage: 40 },
      ],
    },
    { battery: [[-5, 40]], attributes: { battery_voltage: 40 }, dropped: { implausible_time: 2 } },
  ],
]

const Y2020 = Date.UTC(2020, 0, 1)

const TIMES: Case[] = [
  ['a stamp is the time', { ts: NOW - MINUTE, battery_voltage: 1 }, { battery: [[1, 1]] }],
  [
    'the first moment of 2020 can be believed',
    { ts: Y2020, battery_voltage: 1 },
    { battery: [[(NOW - Y2020) / MINUTE, 1]] },
  ],
  [
    'before 2020, a single sample is of now',
    { ts: Y2020 - 1, battery_voltage: 1 },
    { battery: [[0, 1]], dropped: { implausible_time: 1 } },
  ],
  ['five minutes ahead can be believed', { ts: NOW + 5 * MINUTE, battery_voltage: 1 }, { battery: [[-5, 1]] }],
  [
    'more than five minutes ahead, a single sample is of now',
    { ts: NOW + 5 * MINUTE + 1, battery_voltage: 1 },
    { battery: [[0, 1]], dropped: { implausible_time: 1 } },
  ],
  ...['1777636800000', true, {}, [], -1, 0, 1e300].map(
    (ts): Case => [
      `a single sample stamped ${JSON.stringify(ts)} is of now`,
      { ts, battery_voltage: 1 },
      { battery: [[0, 1]], dropped: { implausible_time: 1 } },
    ],
  ),
  ...[
    toIso(NOW - MINUTE),
    toIso(NOW - MINUTE + 2 * HOUR).replace('Z', '+02:00'),
    toIso(NOW - MINUTE - 5.5 * HOUR).replace('.000Z', '-0530'),
    toIso(NOW - 2 * MINUTE).replace(':00.000Z', ':60Z'),
  ].map((ts): Case => [`a single sample stamped ${ts} is of then`, { ts, battery_voltage: 1 }, { battery: [[1, 1]] }]),
  [
    'in a batch texts with a zone are times, those without one are discarded',
    [
      { ts: toIso(NOW - 2 * MINUTE).slice(0, -1), speed: 3 },
      { ts: toIso(NOW - MINUTE), battery_voltage: 40 },
    ],
    { battery: [[1, 40]], attributes: { battery_voltage: 40 }, dropped: { implausible_time: 1 } },
  ],
  [
    'in a batch what cannot be believed is discarded',
    [
      { ts: Y2020 - 1, speed: 1 },
      { ts: NOW + 5 * MINUTE + 1, speed: 2 },
      { ts: 'yesterday', speed: 3 },
      { ts: NOW + 5 * MINUTE, battery_voltage: 40 },
    ],
    { battery: [[-5, 40]], attributes: { battery_voltage: 40 }, dropped: { implausible_time: 3 } },
  ],
  ['a fraction of a millisecond is rounded', { ts: NOW - 0.4, battery_voltage: 1 }, { battery: [[0, 1]] }],
  [
    'years late is stored at its own time',
    [{ ts: Y2020 + 5, battery_voltage: 1 }],
    { battery: [[(NOW - Y2020 - 5) / MINUTE, 1]] },
  ],
]

const KEPT = { battery_voltage: 40 }
const STORED_KEPT = { battery: [[0, 40]], attributes: KEPT }
const STORED_HERE = { gps: [[0, 47.5, 19.25, undefined]], attributes: HERE }

/** Cases in which each of these values is dropped for a reason, and the rest of its sample is stored. */
function dropped(reason: string, rest: object, stored: Stored, values: object[]): Case[] {
  return values.map((value) => [
    `${JSON.stringify(value)} is dropped, the rest kept`,
    { ...value, ...rest },
    { ...stored, dropped: { [reason]: 1 } },
  ])
}

/** Samples of one field with each of these values. */
const of = (field: string, ...values: unknown[]) => values.map((value) => ({ [field]: value }))

function taken(payload: object, stored: Stored): Case {
  return [`${JSON.stringify(payload)} is taken`, payload, stored]
}

const VALUES: Case[] = [
  ...dropped('invalid_position', KEPT, STORED_KEPT, [
    { lat: 90.0000001, long: 1 },
    { lat: -91, long: 1 },
    { lat: 1, long: 180.0000001 },
    { lat: 1, long: -181 },
    { lat: 0, long: 0 },
    { lat: -0, long: 0 },
    { lat: '47.5', long: 19 },
    { lat: 47, long: true },
    { lat: [], long: {} },
  ]),
  ...dropped('incomplete_position', KEPT, STORED_KEPT, [{ lat: 47 }, { long: 19 }, { lat: 47, long: null }]),
  [
    'a number beyond all numbers is dropped',
    '{"lat":1e999,"long":1,"speed":1e999,"battery_voltage":40,"temp":1e999}',
    { ...STORED_KEPT, dropped: { invalid_position: 1, invalid_speed: 1, invalid_attribute: 1 } },
  ],
  taken({ lat: 90, long: 180 }, { gps: [[0, 90, 180, undefined]] }),
  taken({ lat: -90, long: -180 }, { gps: [[0, -90, -180, undefined]] }),
  taken({ lat: 0, long: 1 }, { gps: [[0, 0, 1, undefined]] }),
  taken({ lat: 1e-7, long: 0 }, { gps: [[0, 1e-7, 0, undefined]] }),
  ...dropped('invalid_speed', HERE, STORED_HERE, of('speed', -0.001, 200.001, '5', true, {})),
  ...[0, 200].map((speed) => taken({ ...HERE, speed }, { gps: [[0, 47.5, 19.25, speed]] })),
  ...dropped('invalid_battery_voltage', HERE, STORED_HERE, of('battery_voltage', -0.001, 120.001, '48', false)),
  ...[0, 120].map((battery_voltage) => taken({ battery_voltage }, { battery: [[0, battery_voltage]] })),
  ...[0, 1, true, false].map((lock_status) => taken({ lock_status }, { attributes: { lock_status } })),
  ...dropped('invalid_lock_status', KEPT, STORED_KEPT, of('lock_status', 2, -1, '1', 'locked', {})),
  [
    'other scalars are attributes; nested values and impossible names are not',
    '{"temp":-3.5,"fw":"1.2","ok":false,"deep":{"a":1},"list":[1],"a b":1,"__proto__":{"x":1},"constructor":7,"":2}',
    {
      attributes: { temp: -3.5, fw: '1.2', ok: false, constructor: 7 },
      dropped: { nested_attribute: 2, invalid_attribute_name: 3 },
    },
  ],
  [
    'a string is cut at 256 characters',
    { note: 'x'.repeat(300), exact: 'y'.repeat(256) },
    { attributes: { note: 'x'.repeat(256), exact: 'y'.repeat(256) } },
  ],
  [
    'a name has 64 characters at most',
    { ['n'.repeat(64)]: 1, ['m'.repeat(65)]: 2 },
    { attributes: { ['n'.repeat(64)]: 1 }, dropped: { invalid_attribute_name: 1 } },
  ],
  [
    'of more than 32 other attributes the first 32 are taken',
    Object.fromEntries([...Array.from({ length: 40 }, (_, i) => [`a${i}`, i]), ['battery_voltage', 40]]),
    {
      battery: [[0, 40]],
      attributes: { ...Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`a${i}`, i])), battery_voltage: 40 },
      dropped: { too_many_attributes: 8 },
    },
  ],
]

for (const [what, cases] of Object.entries({ 'payload forms': FORMS, times: TIMES, values: VALUES })) {
  describe(what, () => {
    for (const [name, payload, { gps = [], battery = [], attributes, dropped: counts = {} } = {}] of cases) {
      test(name, async () => {
        const cart = await Cart.connect()
        await cart.send('tlm', payload)
        assert.deepEqual(await cart.gps(), gps)
        assert.deepEqual(await cart.battery(), battery)
        const details = await cart.get('/details')
        if (attributes !== undefined) assert.deepEqual(details.attributes, attributes)
        assert.deepEqual(details.dropped, counts)
      })
    }
  })
}

test('stored values equal the sent values within the precision', async () => {
  const sample = fc.record({
    lat: fc.integer({ min: -900_000_000, max: 900_000_000 }).map((n) => n / 1e7),
    long: fc.integer({ min: 1, max: 1_800_000_000 }).map((n) => n / 1e7),
    speed: fc.integer({ min: 0, max: 200_000 }).map((n) => n / 1e3),
    battery_voltage: fc.integer({ min: 0, max: 120_000 }).map((n) => n / 1e3),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(sample, { minLength: 1, maxLength: 200 }), async (samples) => {
      const cart = await Cart.connect()
      await cart.send(
        'tlm',
        samples.map((one, i) => ({ ts: NOW - (samples.length - 1 - i) * MINUTE, ...one })),
      )
      const times = samples.map((_, i) => samples.length - 1 - i)
      const expected = samples.map(({ lat, long, speed }, i) => [times[i], lat === 0 ? 0 : lat, long, speed])
      assert.deepEqual(await cart.gps(), expected)
      const wanted = samples.map(({ battery_voltage }, i) => [times[i], battery_voltage])
      assert.deepEqual(await cart.battery(), wanted)
      const last = samples.at(-1)
      assert.ok(last !== undefined)
      assert.deepEqual((await cart.get()).attributes, { ...last, lat: last.lat === 0 ? 0 : last.lat })
      assert.equal((await cart.get('/gps/latest')).lat, last.lat === 0 ? 0 : last.lat)
    }),
    { numRuns: 10 },
  )
})

test('of 501 samples the first 500 are stored and one is counted', async () => {
  const cart = await Cart.connect()
  const samples = Array.from({ length: 501 }, (_, i) => ({ ts: NOW - (600 - i) * MINUTE, battery_voltage: 40 }))
  await cart.send('tlm', samples)
  const battery = await cart.battery()
  assert.equal(battery.length, 500)
  assert.deepEqual(battery.at(-1), [101, 40])
  assert.deepEqual((await cart.get('/details')).dropped, { batch_too_long: 1 })
})

describe('repeats', () => {
  test('a repeated sample is stored once and counted, in one message or several', async () => {
    const cart = await Cart.connect()
    const before = await metric(gateway, 'cartbarn_dropped_total', 'duplicate')
    const sample = { ts: NOW - MINUTE, ...HERE, battery_voltage: 40 }
    await cart.send('tlm', sample)
    await cart.send('tlm', sample)
    await cart.send('tlm', [sample, { ts: NOW, battery_voltage: 41 }, sample])
    assert.deepEqual(await cart.gps(), [[1, 47.5, 19.25, undefined]])
    assert.deepEqual(await cart.battery(), [
      [1, 40],
      [0, 41],
    ])
    assert.equal(await metric(gateway, 'cartbarn_dropped_total', 'duplicate'), before + 3)
    const { telemetry } = await cart.get('/details')
    assert.deepEqual([telemetry.gps.count, telemetry.battery.count], [1, 2])
  })

  test('a QoS 1 message delivered again after a reconnect is acknowledged again and stored once', async () => {
    const hardwareId = `cart-${++count}`
    const password = await gateway.register(hardwareId)
    const topic = `dev/${hardwareId}/tlm`
    const payload = JSON.stringify({ ts: NOW - MINUTE, battery_voltage: 40 })
    for (const isDup of [false, true, true]) {
      const client = await RawMqtt.open(gateway.mqtt)
      assert.equal(await client.login({ clientId: hardwareId, username: hardwareId, password, clean: false }), 0)
      client.send(publishPacket(topic, payload, { id: 7, isDup }))
      assert.equal((await client.next(PACKET.puback)).body.readUInt16BE(), 7)
      client.destroy()
    }
    assert.equal((await gateway.request('GET', `/devices/${hardwareId}/battery`)).body.length, 1)
  })

  test('a QoS 2 message sent again before its release is stored once, even without a time', async () => {
    const hardwareId = `cart-${++count}`
    const password = await gateway.register(hardwareId)
    const client = await RawMqtt.open(gateway.mqtt)
    await client.login({ clientId: hardwareId, username: hardwareId, password })
    const packet = (isDup: boolean) =>
      publishPacket(`dev/${hardwareId}/tlm`, '{"battery_voltage":40}', { qos: 2, id: 9, isDup })
    client.send(packet(false))
    await client.next(PACKET.pubrec)
    clock.advance(1_000)
    client.send(packet(true))
    await client.next(PACKET.pubrec)
    client.send(Buffer.from([0x62, 2, 0, 9]))
    await client.next(PACKET.pubcomp)
    clock.set(NOW)
    client.destroy()
    assert.equal((await gateway.request('GET', `/devices/${hardwareId}/battery`)).body.length, 1)
  })

  test('the first of two different samples with the same time is kept', async () => {
    const cart = await Cart.connect()
    await cart.send('tlm', { ts: NOW, battery_voltage: 40 })
    await cart.send('tlm', { ts: NOW, battery_voltage: 41 })
    assert.deepEqual(await cart.battery(), [[0, 40]])
    assert.equal((await cart.get()).attributes.battery_voltage, 40)
    assert.equal((await cart.get('/battery/latest')).battery_voltage, 40)
  })
})

test('late data goes to history and never moves an attribute back, key by key', async () => {
  const cart = await Cart.connect()
  await cart.send('tlm', { ts: NOW - MINUTE, ...HERE, temp: 20 })
  await cart.send('tlm', { ts: NOW - HOUR, lat: 1, long: 2, battery_voltage: 30, temp: 10, mode: 'old' })
  await cart.send('tlm', [{ ts: NOW - 2 * HOUR, battery_voltage: 20, mode: 'older' }])
  assert.deepEqual((await cart.get()).attributes, { ...HERE, temp: 20, battery_voltage: 30, mode: 'old' })
  assert.equal((await cart.gps()).length, 2)
  assert.equal((await cart.battery()).length, 2)
  assert.equal((await cart.get('/gps/latest')).lat, 47.5)
  assert.equal((await cart.get('/battery/latest')).battery_voltage, 30)
})

describe('payloads as firmware writes them', () => {
  const framed = (json: string) => [`${json}\0`, `${json}\0\0\0`, `\ufeff${json}`, `\ufeff${json}\n\0`]

  for (const [i, payload] of framed(`{"ts":${NOW},"battery_voltage":40}`).entries())
    test(`a reading in frame ${i} is stored`, async () => {
      const cart = await Cart.connect()
      await cart.send('tlm', payload)
      assert.deepEqual(await cart.battery(), [[0, 40]])
      assert.deepEqual((await cart.get('/details')).dropped, {})
    })

  for (const [i, payload] of framed('{"event":"unlock","source":"key"}').entries())
    test(`a lock event in frame ${i} is stored`, async () => {
      const cart = await Cart.connect()
      await cart.send('evt', payload)
      assert.equal((await cart.get()).attributes.lock_status, false)
    })

  for (const [i, payload] of framed('{"online":true,"fw":"1.2"}').entries())
    test(`a status in frame ${i} is accepted`, async () => {
      const cart = await Cart.connect()
      await cart.send('st', payload)
      assert.equal((await cart.get('/details')).status?.fw, '1.2')
    })

  for (const [i, payload] of framed('{"cfg":0}').entries())
    test(`an acknowledgement in frame ${i} is accepted`, async () => {
      const cart = await Cart.connect()
      await cart.send('ack', payload)
      assert.deepEqual((await cart.get('/details')).dropped, {})
    })

  test('a value that is not a number is dropped without the other values of its sample', async () => {
    const cart = await Cart.connect()
    const { lat, long } = HERE
    await cart.send('tlm', `{"ts":${NOW},"lat":${lat},"long":${long},"speed":nan,"fuel":-NaN,"temp":5}`)
    assert.deepEqual((await cart.get()).attributes, { ...HERE, temp: 5 })
    await cart.send('tlm', `[{"ts":${NOW},"battery_voltage":Infinity,"temp":6},{"ts":nan,"temp":7}]`)
    await cart.send('tlm', `{"boot":1,"up":9000,"s":[{"up":9000,"lat":nan,"long":${long},"mode":"nan"}]}`)
    assert.equal((await cart.get()).attributes.mode, 'nan')
    assert.deepEqual((await cart.get('/details')).dropped, {
      invalid_speed: 1,
      invalid_attribute: 1,
      invalid_battery_voltage: 1,
      implausible_time: 1,
      invalid_position: 1,
    })
    await cart.send('evt', '{"eid":nan,"event":"lock","source":"rfid","code":NaN,"ts":nan}')
    assert.deepEqual((await cart.get('/details')).dropped.not_a_number, 3)
    assert.equal((await cart.get()).attributes.lock_status, true)
  })
})

describe('unreadable payloads are acknowledged and quarantined', () => {
  const unreadable: [level: string, payload: string | Buffer, reason: string][] = [
    ['tlm', '', 'invalid_json'],
    ['tlm', '{"lat":', 'invalid_json'],
    ['tlm', '{"lat":1}\n{"lat":2}', 'invalid_json'],
    ['tlm', '\0\0', 'invalid_json'],
    ['tlm', '\0{"lat":1}', 'invalid_json'],
    ['tlm', '{"lat":xnan}', 'invalid_json'],
    ['tlm', "{'lat':1}", 'invalid_json'],
    ['tlm', Buffer.from([0xff, 0xfe]), 'invalid_utf8'],
    ['tlm', Buffer.from('{"n":"ü"}', 'latin1'), 'invalid_utf8'],
    ['tlm', '5', 'not_an_object_or_array'],
    ['tlm', 'null', 'not_an_object_or_array'],
    ['tlm', '"text"', 'not_an_object_or_array'],
    ['evt', '{}', 'invalid_lock_event'],
    ['evt', 'null', 'invalid_lock_event'],
    ['evt', '{"event":"open","source":"key"}', 'invalid_lock_event'],
    ['evt', '{"event":"lock","source":"magic"}', 'invalid_lock_event'],
    ['evt', '[{"event":"lock","source":"key"},7]', 'invalid_lock_event'],
    ['st', '[]', 'invalid_status'],
    ['st', '{"online":"yes"}', 'invalid_status'],
    ['st', '{}', 'invalid_status'],
    ['ack', '[]', 'invalid_ack'],
    ['ack', '{"cfg":"12"}', 'invalid_ack'],
    ['ack', '{"id":"1","st":"perhaps"}', 'invalid_ack'],
  ]
  for (const [level, payload, reason] of unreadable) {
    test(`${level} ${JSON.stringify(payload.toString())}`, async () => {
      const cart = await Cart.connect()
      await cart.send(level, payload)
      const { body } = await gateway.request('GET', '/mqtt/quarantine')
      assert.deepEqual(body[0], {
        received_at: new Date(NOW).toISOString(),
        hardware_id: cart.hardwareId,
        topic: `dev/${cart.hardwareId}/${level}`,
        reason,
        size_bytes: Buffer.byteLength(payload),
        payload: Buffer.from(payload).toString('base64'),
      })
      assert.deepEqual((await cart.get('/details')).dropped, { [reason]: 1 })
      await cart.send('tlm', { speed: 1 })
      assert.equal((await cart.get()).attributes.speed, 1)
    })
  }

  test('the first 4096 bytes of a long payload are kept', async () => {
    const cart = await Cart.connect()
    await cart.send('tlm', `[${'x'.repeat(9_999)}`)
    const { body } = await gateway.request('GET', '/mqtt/quarantine')
    assert.equal(body[0].size_bytes, 10_000)
    assert.equal(Buffer.from(body[0].payload, 'base64').toString(), `[${'x'.repeat(4_095)}`)
  })

  test('the newest thousand payloads are kept', async () => {
    const cart = await Cart.connect()
    await Promise.all(Array.from({ length: 1_010 }, (_, i) => cart.send('tlm', `bad ${i}`)))
    const { body } = await gateway.request('GET', '/mqtt/quarantine')
    assert.equal(body.length, 1_000)
    const texts = body.map(({ payload }: { payload: string }) => Buffer.from(payload, 'base64').toString())
    const expected = Array.from({ length: 1_000 }, (_, i) => `bad ${1_009 - i}`)
    assert.deepEqual(texts, expected)
  })

  test('only an admin may read the quarantine', async () => {
    const { key } = await gateway.createUser({ allowed_hardware_ids: ['cart-1'] })
    assert.equal((await gateway.request('GET', '/mqtt/quarantine', { key })).status, 403)
  })
})

describe('lock events', () => {
  for (const source of ['rfid', 'keypad', 'key', 'remote']) {
    for (const event of ['lock', 'unlock']) {
      test(`${event} by ${source} is stored, with a code only for rfid and keypad`, async () => {
        const cart = await Cart.connect()
        await cart.send('evt', { eid: 'e1', event, source, code: '04A1', ts: NOW - MINUTE })
        const hasCode = source === 'rfid' || source === 'keypad'
        const [stored, ...more] = await cart.lockEvents()
        assert.deepEqual(more, [])
        const { event_id, ...rest } = stored
        assert.match(event_id, /^[0-9a-f-]{36}$/)
        assert.deepEqual(rest, {
          hardware_id: cart.hardwareId,
          event,
          source,
          timestamp: new Date(NOW - MINUTE).toISOString(),
          ...(hasCode ? { code: '04A1' } : {}),
        })
        assert.deepEqual((await cart.get('/details')).dropped, hasCode ? {} : { unexpected_code: 1 })
        assert.equal((await cart.get()).attributes.lock_status, event === 'lock')
      })
    }
  }

  test('an array is stored event by event; invalid events are counted and the payload is quarantined', async () => {
    const cart = await Cart.connect()
    await cart.send('evt', [
      { event: 'unlock', source: 'key', ts: NOW - 2 * MINUTE },
      { event: 'open', source: 'key' },
      'nonsense',
      { event: 'lock', source: 'key', ts: NOW - MINUTE },
    ])
    const shown = (await cart.lockEvents()).map(({ event }) => event)
    assert.deepEqual(shown, ['lock', 'unlock'])
    assert.deepEqual((await cart.get('/details')).dropped, { invalid_lock_event: 2 })
    assert.equal((await gateway.request('GET', '/mqtt/quarantine')).body[0].hardware_id, cart.hardwareId)
  })

  test('events of one device with the same eid, kind and time are duplicates, despite other fields', async () => {
    const [cart, other] = [await Cart.connect(), await Cart.connect()]
    const before = await metric(gateway, 'cartbarn_dropped_total', 'duplicate')
    const event = { eid: '17-42', event: 'unlock', source: 'rfid', code: '1', ts: NOW - MINUTE }
    await cart.send('evt', event)
    await cart.send('evt', [event, { ...event, source: 'keypad', code: '2' }])
    await other.send('evt', event)
    assert.equal((await cart.lockEvents()).length, 1)
    assert.equal((await other.lockEvents()).length, 1)
    assert.equal(await metric(gateway, 'cartbarn_dropped_total', 'duplicate'), before + 2)
    assert.deepEqual((await cart.get('/details')).dropped, { duplicate: 2 })
    assert.deepEqual((await other.get('/details')).dropped, {})
  })

  test('a lock that restarts its counter loses no event: kind or time distinguishes equal eids', async () => {
    const cart = await Cart.connect()
    const event = { eid: '1', event: 'unlock', source: 'key', ts: NOW - HOUR }
    await cart.send('evt', event)
    await cart.send('evt', [
      { ...event, event: 'lock' },
      { ...event, ts: NOW - MINUTE },
    ])
    assert.equal((await cart.lockEvents()).length, 3)
    // without a time its eid and kind identify it
    await cart.send('evt', { eid: '1', event: 'unlock', source: 'key' })
    await cart.send('evt', [
      { eid: '1', event: 'unlock', source: 'key' },
      { eid: '2', event: 'unlock', source: 'key' },
      { eid: '2', event: 'unlock', source: 'key' },
    ])
    assert.equal((await cart.lockEvents()).length, 5)
    assert.deepEqual((await cart.get('/details')).dropped, { duplicate: 2 })
  })

  test('without an eid, events with the same time, event, source and code are duplicates', async () => {
    const cart = await Cart.connect()
    const event = { event: 'unlock', source: 'rfid', code: '1', ts: NOW - MINUTE }
    await cart.send('evt', event)
    await cart.send('evt', event)
    await cart.send('evt', { ...event, code: '2' })
    await cart.send('evt', { ...event, source: 'keypad' })
    await cart.send('evt', { ...event, event: 'lock' })
    await cart.send('evt', { ...event, ts: NOW })
    assert.equal((await cart.lockEvents()).length, 5)
  })

  test('an implausible time is replaced by the receive time', async () => {
    const cart = await Cart.connect()
    await cart.send('evt', [
      { eid: 'a', event: 'lock', source: 'key', ts: 1 },
      { eid: 'b', event: 'lock', source: 'key' },
    ])
    for (const { timestamp } of await cart.lockEvents()) assert.equal(ago(timestamp), 0)
    assert.deepEqual((await cart.get('/details')).dropped, { implausible_time: 1 })
  })

  test('the lock status is the newest in event time, of telemetry and events alike', async () => {
    const cart = await Cart.connect()
    const status = async () => (await cart.get()).attributes.lock_status
    await cart.send('tlm', { ts: NOW - 10 * MINUTE, lock_status: 1 })
    assert.equal(await status(), 1)
    await cart.send('evt', { event: 'unlock', source: 'key', ts: NOW - 8 * MINUTE })
    assert.equal(await status(), 0)
    await cart.send('evt', { event: 'lock', source: 'key', ts: NOW - 9 * MINUTE })
    assert.equal(await status(), 0)
    await cart.send('tlm', { ts: NOW - 9 * MINUTE, lock_status: 1 })
    assert.equal(await status(), 0)
    await cart.send('tlm', { ts: NOW - 7 * MINUTE, lock_status: true })
    assert.equal(await status(), true)
    await cart.send('evt', { event: 'unlock', source: 'key', ts: NOW - 6 * MINUTE })
    assert.equal(await status(), false)
  })

  test('a repeated event without a time does not turn the lock status back', async () => {
    const cart = await Cart.connect()
    const unlock = { eid: '1', event: 'unlock', source: 'key' }
    await cart.send('evt', unlock)
    clock.advance(1_000)
    await cart.send('evt', { eid: '2', event: 'lock', source: 'key' })
    clock.advance(1_000)
    await cart.send('evt', unlock)
    clock.set(NOW)
    assert.equal((await cart.get()).attributes.lock_status, true)
  })
})

test('a message is stored even if its device disconnects first', async () => {
  const hardwareId = `cart-${++count}`
  const password = await gateway.register(hardwareId)
  for (const qos of [0, 1, 2]) {
    const client = await RawMqtt.open(gateway.mqtt)
    await client.login({ clientId: hardwareId, username: hardwareId, password })
    client.send(publishPacket(`dev/${hardwareId}/tlm`, `{"ts":${NOW - qos},"battery_voltage":40}`, { qos }))
    client.stream.end()
    await client.closed()
    await eventually(async () => {
      const { body } = await gateway.request('GET', `/devices/${hardwareId}/battery`)
      return body.length === qos + 1
    }, 'stored')
  }
})

test('a status message is kept without its online flag', async () => {
  const cart = await Cart.connect()
  await cart.send('st', { online: true, fw: '1.4.2', type: 'teebox', boot: 17, extra: { a: 1 } })
  assert.deepEqual((await cart.get('/details')).status, { fw: '1.4.2', type: 'teebox', boot: 17 })
  assert.equal((await cart.get()).is_online, true)
})

test('acknowledgements of commands, configurations and zones are accepted', async () => {
  const cart = await Cart.connect()
  await cart.send('ack', { id: 'c1', st: 'completed' })
  await cart.send('ack', { id: 'c1', st: 'failed', err: 'no battery' })
  await cart.send('ack', { cfg: 12 })
  await cart.send('ack', { sz: 7 })
  assert.deepEqual((await cart.get('/details')).dropped, {})
})

test('updated_at and last_responded_at are the time of the last message', async () => {
  const cart = await Cart.connect()
  assert.equal('last_responded_at' in (await cart.get()), false)
  clock.advance(5_000)
  await cart.send('tlm', { ts: NOW - HOUR, speed: 1 })
  clock.set(NOW)
  const { updated_at, last_responded_at } = await cart.get()
  assert.equal(updated_at, new Date(NOW + 5_000).toISOString())
  assert.equal(last_responded_at, updated_at)
})

const valueArb = fc.record(
  {
    position: fc.record({ lat: fc.integer({ min: 1, max: 90 }), long: fc.integer({ min: 1, max: 180 }) }),
    battery_voltage: fc.integer({ min: 0, max: 120 }),
    temp: fc.integer({ min: -40, max: 60 }),
    mode: fc.constantFrom('a', 'b', 'c'),
  },
  { requiredKeys: [] },
)
const sampleArb = fc.record({ minutesAgo: fc.integer({ min: 0, max: 30 }), values: valueArb })
const messageArb = fc.oneof(
  fc.record({ form: fc.constant('single' as const), samples: fc.array(sampleArb, { minLength: 1, maxLength: 1 }) }),
  fc.record({
    // the times of an envelope depend on its receipt, which two of them never share
    form: fc.constant('array' as const),
    samples: fc.array(sampleArb, { maxLength: 8 }),
  }),
  fc.record({ form: fc.constant('garbage' as const), samples: fc.constant([]) }),
)

type SampleSpec = typeof sampleArb extends fc.Arbitrary<infer Spec> ? Spec : never

function encode(form: string, samples: readonly SampleSpec[]): string {
  const flat = samples.map(({ minutesAgo, values: { position, ...rest } }) => ({
    atMs: NOW - minutesAgo * MINUTE,
    ...position,
    ...rest,
  }))
  if (form === 'garbage') return '{"lat":'
  const stamped = flat.map(({ atMs, ...rest }) => ({ ts: atMs, ...rest }))
  if (form === 'single') return JSON.stringify(stamped[0])
  return JSON.stringify(stamped)
}

test('in any order of messages, history is the set of samples and attributes are the newest values', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ cart: fc.integer({ min: 0, max: 1 }), message: messageArb }), { maxLength: 25 }),
      async (mix) => {
        const carts = [await Cart.connect(), await Cart.connect()]
        // each cart's messages are sent together, as fast as the socket takes them
        await Promise.all(
          mix.map(({ cart, message }) => carts[cart]?.send('tlm', encode(message.form, message.samples))),
        )
        for (const [i, cart] of carts.entries()) {
          const samples = mix.filter((entry) => entry.cart === i).flatMap(({ message }) => message.samples)
          const gps = new Map<number, unknown[]>()
          const battery = new Map<number, unknown[]>()
          const newest = new Map<string, { minutesAgo: number; value: unknown }>()
          for (const { minutesAgo, values } of samples) {
            const { position, battery_voltage, ...rest } = values
            if (position !== undefined && !gps.has(minutesAgo))
              gps.set(minutesAgo, [minutesAgo, position.lat, position.long, undefined])
            if (battery_voltage !== undefined && !battery.has(minutesAgo))
              battery.set(minutesAgo, [minutesAgo, battery_voltage])
            const flat = { ...position, ...rest, ...(battery_voltage === undefined ? {} : { battery_voltage }) }
            for (const [key, value] of Object.entries(flat)) {
              const known = newest.get(key)
              if (known === undefined || minutesAgo < known.minutesAgo) newest.set(key, { minutesAgo, value })
            }
          }
          const oldestFirst = (records: Map<number, unknown[]>) =>
            [...records].sort(([a], [b]) => b - a).map(([, record]) => record)
          assert.deepEqual(await cart.gps(), oldestFirst(gps))
          assert.deepEqual(await cart.battery(), oldestFirst(battery))
          const { attributes, telemetry } = await cart.get('/details')
          assert.deepEqual(attributes, Object.fromEntries([...newest].map(([key, { value }]) => [key, value])))
          assert.deepEqual([telemetry.gps.count, telemetry.battery.count], [gps.size, battery.size])
        }
      },
    ),
    { numRuns: 40 },
  )
})

test('the counts of /stats, of the details and of /telemetry/stats match the history', async () => {
  let gps = 0
  let battery = 0
  for (let i = 1; i <= count; i++) {
    const path = `/devices/cart-${i}`
    const { body: details } = await gateway.request('GET', `${path}/details`)
    const { body: stats } = await gateway.request('GET', `${path}/telemetry/stats`)
    for (const stream of ['gps', 'battery']) {
      const { body: records } = await gateway.request('GET', `${path}/${stream}?limit=10000`)
      assert.deepEqual(details.telemetry[stream], {
        count: records.length,
        first_at: records.at(-1)?.timestamp ?? null,
        last_at: records[0]?.timestamp ?? null,
      })
      assert.equal(stats[stream], records.length)
    }
    gps += stats.gps
    battery += stats.battery
  }
  const { body } = await gateway.request('GET', '/stats')
  assert.deepEqual(body.telemetry, { gps, battery })
  assert.equal(body.devices, count)
})

describe('while the disk cannot be written', () => {
  /** Holds the database's write lock, as a stuck disk would delay the writer. */
  function lockDatabase(): () => void {
    const database = new Database(join(gateway.config.dataDir, 'cartbarn.db'))
    database.exec('BEGIN EXCLUSIVE')
    return () => {
      database.exec('ROLLBACK')
      database.close()
    }
  }

  test('reads, logins and channels work; messages are acknowledged and shown after it recovers', async () => {
    const cart = await Cart.connect()
    const watcher = await gateway.realtime()
    await watcher.subscribe(cart.hardwareId)
    const unlock = lockDatabase()
    let isStored = false
    const stored = cart.send('tlm', { battery_voltage: 40 }).then(() => {
      isStored = true
    })
    await eventually(async () => (await metric(gateway, 'cartbarn_write_queue_rows')) > 0, 'in the queue')
    for (let round = 0; round < 5; round++) {
      assert.deepEqual((await cart.get()).attributes, {})
      assert.deepEqual(await cart.battery(), [])
      assert.deepEqual(await watcher.flush(), [])
      const stranger = await RawMqtt.open(gateway.mqtt)
      assert.equal(await stranger.login({ clientId: 'x', username: 'x', password: 'x' }), 4)
    }
    assert.equal(isStored, false)
    assert.equal((await gateway.request('GET', '/health')).status, 200)
    unlock()
    await stored
    assert.deepEqual(await cart.battery(), [[0, 40]])
    assert.equal((await watcher.next('device_data')).payload.battery_voltage, 40)
  })

  test("an outage beyond the writer's timeout yields 503 and no acknowledgement, and loses nothing", async () => {
    const cart = await Cart.connect()
    await cart.send('tlm', { ts: NOW - MINUTE, battery_voltage: 39 })
    const unlock = lockDatabase()
    let isStored = false
    const stored = Promise.all([1, 2, 3].map((n) => cart.send('tlm', { ts: NOW - n, battery_voltage: 40 + n }))).then(
      () => {
        isStored = true
      },
    )
    const health = () => gateway.request('GET', '/health')
    await eventually(async () => (await health()).status === 503, 'unhealthy')
    assert.equal((await health()).body.status, 'error')
    assert.equal(typeof (await health()).body.detail, 'string')
    assert.equal('detail' in (await gateway.request('GET', '/health', { key: null })).body, false)
    assert.equal(isStored, false)
    assert.deepEqual(await cart.battery(), [[1, 39]])
    const refused = await gateway.request('POST', '/devices', {
      body: { hardware_id: 'too-late', device_type: 'teebox' },
    })
    assert.equal(refused.status, 503)
    assert.equal(refused.body.code, 'store_unavailable')
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    assert.equal(await metric(gateway, 'cartbarn_store_usable'), 0)
    unlock()
    await stored
    assert.equal((await health()).status, 200)
    assert.equal((await cart.battery()).length, 4)
    assert.equal(await metric(gateway, 'cartbarn_store_usable'), 1)
    assert.equal(await metric(gateway, 'cartbarn_write_queue_rows'), 0)
  })
})

test("[MQTT-4.8.0-2] a message the store rejects closes its connection; other clients' are stored", async () => {
  const db = new Database(join(gateway.config.dataDir, 'cartbarn.db'))
  // 66,600 in the speed column
  db.exec(`CREATE TRIGGER refuse_speed BEFORE INSERT ON telemetry_log WHEN instr(new.samples, x'28040100') > 0
    BEGIN SELECT RAISE(ABORT, 'refused'); END`)
  try {
    const neighbour = await Cart.connect()
    const hardwareId = `cart-${++count}`
    const password = await gateway.register(hardwareId)
    const client = await RawMqtt.open(gateway.mqtt)
    await client.login({ clientId: hardwareId, username: hardwareId, password })
    client.send(publishPacket(`dev/${hardwareId}/tlm`, JSON.stringify({ ...HERE, speed: 66.6 }), { id: 5 }))
    await neighbour.send('tlm', { ...HERE, speed: 5 })
    assert.equal(await client.nextOrClosed(), null)
    assert.equal((await gateway.request('GET', `/devices/${hardwareId}/gps`)).body.length, 0)
    assert.equal((await neighbour.gps()).length, 1)
  } finally {
    db.exec('DROP TRIGGER refuse_speed')
    db.close()
  }
})
