import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { MqttClient } from 'mqtt'
import { FakeClock } from '#shared/testing/clocks.ts'
import { toIso } from '#shared/time.ts'
import type { RealtimeClient } from '#testing/realtime-client.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
/** Metres of a degree of latitude; the course is at the equator, where a degree of longitude is about as long. */
const DEGREE_M = 110_574
const LONG_DEGREE_M = 111_320

/** A position so many metres east and north of 0.1, 0.1. */
function place(eastM: number, northM = 0): { lat: number; long: number } {
  const round = (degrees: number) => Math.round(degrees * 1e7) / 1e7
  return { lat: round(0.1 + northM / DEGREE_M), long: round(0.1 + eastM / LONG_DEGREE_M) }
}

/** A zone between two positions in the east, 100 m high on both sides of the track. */
function zone(id: string, fromM: number, toM: number, type = 'stop') {
  const corners = [place(fromM, -50), place(toM, -50), place(toM, 50), place(fromM, 50)]
  return {
    type: 'Feature',
    id,
    geometry: { type: 'Polygon', coordinates: [corners.map(({ lat, long }) => [long, lat])] },
    properties: { name: `Zone ${id}`, type },
  }
}

const GREEN = zone('green', 100, 200)

interface EventJson {
  event_id: string
  event: string
  hardware_id: string
  zone_id: string
  timestamp: string
}

const clock = new FakeClock()
let gateway: TestGateway
let count = 0

before(async () => {
  gateway = await startGateway({}, { clock, isTimeSynchronized: () => false })
})
after(() => gateway.stop())

async function createGroup(): Promise<number> {
  return (await gateway.request('POST', '/groups', { body: { name: 'Course' } })).body.group_id
}

/** A course with zones, and a cart on it. */
class Course {
  readonly hardwareId: string
  readonly groupId: number
  readonly startMs = clock.nowMs()
  readonly #password: string
  #client: MqttClient | undefined

  private constructor(groupId: number, hardwareId: string, password: string) {
    this.groupId = groupId
    this.hardwareId = hardwareId
    this.#password = password
  }

  static async open(...zones: unknown[]): Promise<Course> {
    const hardwareId = `cart-${++count}`
    const course = new Course(await createGroup(), hardwareId, await gateway.register(hardwareId))
    await course.put(...zones)
    await course.join(course.groupId)
    return course
  }

  async put(...features: unknown[]): Promise<void> {
    const body = { type: 'FeatureCollection', features }
    assert.equal((await gateway.request('PUT', `/groups/${this.groupId}/geofences`, { body })).status, 200)
  }

  async join(groupId: number): Promise<void> {
    assert.equal((await gateway.request('PUT', `/groups/${groupId}/devices/${this.hardwareId}`)).status, 200)
  }

  /** Resolves when the message is stored and published. */
  async send(payload: unknown): Promise<void> {
    this.#client ??= await gateway.connect(this.hardwareId, this.#password)
    await this.#client.publishAsync(`dev/${this.hardwareId}/tlm`, JSON.stringify(payload), { qos: 1 })
  }

  /** Sends these positions of the cart, five seconds apart. */
  async drive(...eastM: number[]): Promise<void> {
    for (const east of eastM) {
      clock.advance(5 * SECOND_MS)
      await this.send({ ts: clock.nowMs(), ...place(east) })
    }
  }

  async restart(meanwhile?: () => void): Promise<void> {
    this.#client = undefined
    await gateway.restart(meanwhile)
  }

  async watch(): Promise<RealtimeClient> {
    const client = await gateway.realtime()
    await client.subscribe(this.hardwareId)
    return client
  }

  async events(): Promise<EventJson[]> {
    const { status, body } = await gateway.request('GET', `/geofence-events?hardware_id=${this.hardwareId}`)
    assert.equal(status, 200)
    return body.events
  }

  /** Oldest first: `enter green @15`, in seconds since the start. */
  async story(): Promise<string[]> {
    const events = await this.events()
    return events
      .toReversed()
      .map(
        ({ event, zone_id, timestamp }) => `${event} ${zone_id} @${(Date.parse(timestamp) - this.startMs) / SECOND_MS}`,
      )
  }
}

async function pushed(client: RealtimeClient): Promise<unknown[]> {
  const messages = await client.flush()
  return messages.filter(({ type }) => type.startsWith('geofence_'))
}

const THROUGH = [0, 40, 80, 120, 160, 190, 230, 270]

test('a cart that drives through a zone yields one entry and one exit: stored, listed and pushed', async () => {
  const course = await Course.open(GREEN)
  const watcher = await course.watch()
  await course.drive(...THROUGH)
  assert.deepEqual(await course.story(), ['enter green @20', 'exit green @35'])
  const [exit, enter] = await course.events()
  assert.deepEqual(enter, {
    event_id: enter?.event_id,
    hardware_id: course.hardwareId,
    event: 'enter',
    group_id: course.groupId,
    zone_id: 'green',
    zone_name: 'Zone green',
    zone_type: 'stop',
    timestamp: toIso(course.startMs + 20 * SECOND_MS),
    ...place(120),
  })
  assert.deepEqual(
    await pushed(watcher),
    [
      { type: 'geofence_enter', eventId: enter?.event_id, timestamp: enter?.timestamp, ...place(120) },
      { type: 'geofence_exit', eventId: exit?.event_id, timestamp: exit?.timestamp, ...place(230) },
    ].map((message) => ({
      ...message,
      hardwareId: course.hardwareId,
      groupId: course.groupId,
      zoneId: 'green',
      zoneName: 'Zone green',
      zoneType: 'stop',
    })),
  )
})

test('a batch of live positions is evaluated like single ones, in any order', async () => {
  const course = await Course.open(GREEN)
  clock.advance(MINUTE_MS)
  const batch = THROUGH.map((east, i) => ({ ts: course.startMs + (i + 1) * 5 * SECOND_MS, ...place(east) }))
  await course.send([...batch.slice(4), ...batch.slice(0, 4)])
  assert.deepEqual(await course.story(), ['enter green @20', 'exit green @35'])
})

test('a user receives no crossings of a device out of scope', async () => {
  const course = await Course.open(GREEN)
  const { key } = await gateway.createUser({ allowed_hardware_ids: ['other'] })
  const watcher = await gateway.realtime(key)
  await watcher.subscribe('*', course.hardwareId)
  await course.drive(...THROUGH)
  assert.deepEqual(await pushed(watcher), [])
  assert.deepEqual((await gateway.request('GET', '/geofence-events', { key })).body.events, [])
})

for (const stop of [3, 4, 5, 7]) {
  test(`a restart after ${stop} positions yields the same crossings`, async () => {
    const course = await Course.open(GREEN)
    await course.drive(...THROUGH.slice(0, stop))
    await course.restart()
    await course.drive(...THROUGH.slice(stop))
    assert.deepEqual(await course.story(), ['enter green @20', 'exit green @35'])
  })
}

test('a cart that wanders about the edge yields no crossing', async () => {
  const course = await Course.open(GREEN)
  await course.drive(50, 98, 101, 99, 103, 97, 102, 95, 101, 96, 104, 94, 50)
  assert.deepEqual(await course.story(), [])
})

test('a single wrong position yields no crossing, inside or outside', async () => {
  const course = await Course.open(GREEN)
  await course.drive(0, 20, 150, 20, 30)
  assert.deepEqual(await course.story(), [])
  await course.drive(130, 150, 300, 150, 140)
  assert.deepEqual(await course.story(), ['enter green @30'])
})

test('an upload of late positions yields no crossing and moves nothing', async () => {
  const course = await Course.open(GREEN)
  clock.advance(60 * MINUTE_MS)
  await course.drive(0, 20)
  const late = THROUGH.map((east, i) => ({ ts: course.startMs + i * 5 * SECOND_MS, ...place(east) }))
  await course.send(late)
  for (const sample of late) await course.send({ ...sample, ts: sample.ts + MINUTE_MS })
  assert.deepEqual(await course.story(), [])
  await course.drive(40, 150, 160)
  assert.equal((await course.story()).length, 1)
})

test('positions of more than five minutes ago are late, and positions of five minutes ago are not', async () => {
  const course = await Course.open(GREEN)
  clock.advance(60 * MINUTE_MS)
  const upload = (oldestMs: number) =>
    course.send(THROUGH.map((east, i) => ({ ts: clock.nowMs() - oldestMs + i, ...place(east) })))
  await upload(5 * MINUTE_MS + THROUGH.length)
  assert.deepEqual(await course.story(), [])
  await upload(5 * MINUTE_MS)
  assert.equal((await course.story()).length, 2)
})

test('a position older than the last one moves nothing', async () => {
  const course = await Course.open(GREEN)
  await course.drive(0, 20, 40)
  for (const back of [12, 8, 4]) {
    await course.send({ ts: clock.nowMs() - back * SECOND_MS, ...place(150) })
  }
  await course.drive(45)
  assert.deepEqual(await course.story(), [])
})

test('new, moved and deleted zones yield no crossing for a cart that stands in them', async () => {
  const course = await Course.open()
  await course.drive(150, 151)
  await course.put(GREEN)
  await course.drive(150, 151, 150)
  await course.put(zone('green', 120, 220))
  await course.drive(150, 151, 150)
  await course.put(zone('other', 0, 300), { ...GREEN, properties: { ...GREEN.properties, enabled: false } })
  await course.drive(150, 151, 150)
  await course.put()
  await course.drive(150, 151, 150)
  await course.put(GREEN)
  await course.drive(150, 151, 150)
  assert.deepEqual(await course.story(), [])
  await course.drive(250, 260)
  assert.deepEqual(await course.story(), ['exit green @90'])
})

test('a cart that returns after all zones were deleted starts without a known zone', async () => {
  const course = await Course.open(GREEN)
  await course.drive(0, 20)
  await course.put()
  await course.drive(150, 151)
  await course.restart()
  await course.put(GREEN)
  await course.drive(150, 151)
  assert.deepEqual(await course.story(), [])
})

test("crossings are detected for the zones of the cart's current group", async () => {
  const course = await Course.open(GREEN)
  await course.drive(0, 20)
  const other = await createGroup()
  await course.join(other)
  await course.drive(...THROUGH)
  await gateway.request('DELETE', `/groups/${other}/devices/${course.hardwareId}`)
  await course.drive(...THROUGH.toReversed())
  assert.deepEqual(await course.story(), [])
  await course.join(course.groupId)
  await course.drive(0, ...THROUGH)
  assert.equal((await course.story()).length, 2)
})

test('a redelivered message that was not acknowledged yields no second crossing', async () => {
  const course = await Course.open(GREEN)
  const watcher = await course.watch()
  for (const [i, east] of THROUGH.entries()) {
    clock.advance(5 * SECOND_MS)
    const sample = { ts: course.startMs + (i + 1) * 5 * SECOND_MS, ...place(east) }
    await course.send(sample)
    await course.send(sample)
  }
  assert.deepEqual(await course.story(), ['enter green @20', 'exit green @35'])
  assert.equal((await pushed(watcher)).length, 2)
})

test('overlapping zones yield separate crossings', async () => {
  const course = await Course.open(GREEN, zone('fairway', 50, 260, 'slow'))
  await course.drive(0, 40, 80, 120, 160, 190, 230, 280, 300)
  assert.deepEqual(await course.story(), ['enter fairway @15', 'enter green @20', 'exit green @35', 'exit fairway @40'])
})

test('crossings outlive their device and their zones', async () => {
  const course = await Course.open(GREEN)
  await course.drive(...THROUGH)
  await course.put()
  await gateway.request('DELETE', `/devices/${course.hardwareId}`)
  await gateway.request('DELETE', `/groups/${course.groupId}`)
  const known = await course.events()
  assert.equal(known.length, 2)
  await course.restart()
  assert.deepEqual(await course.events(), known)
})

test('without a clock live positions are evaluated and an upload is not', async () => {
  const course = await Course.open(GREEN)
  await course.drive(0)
  await course.restart(() => clock.set(0))
  // the cart knows the time from GPS; the gateway is an hour behind
  const nowMs = course.startMs + 60 * MINUTE_MS
  await course.send(THROUGH.map((east, i) => ({ ts: nowMs + i * MINUTE_MS, ...place(east) })))
  assert.deepEqual(await course.story(), [])
  for (const [i, east] of THROUGH.entries()) {
    await course.send({ ts: nowMs + 20 * MINUTE_MS + i * 5 * SECOND_MS, ...place(east) })
  }
  assert.deepEqual(await course.story(), ['enter green @4815', 'exit green @4830'])
})
