import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { IClientOptions, MqttClient } from 'mqtt'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { compactZonesSchema } from '#shared/wire/geofences.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

const KEPT: IClientOptions = { clean: false }

/** Gateway, and the messages sent to its clients on `sit/…`. */
class Course {
  readonly gateway: TestGateway
  readonly #passwords = new Map<string, string>()

  private constructor(gateway: TestGateway) {
    this.gateway = gateway
  }

  static async open(t: TestContext): Promise<Course> {
    const gateway = await startGateway({}, { clock: new FakeClock() })
    t.after(() => gateway.stop())
    return new Course(gateway)
  }

  async call(method: string, path: string, body?: unknown): Promise<void> {
    const { status, body: answer } = await this.gateway.request(method, path, body === undefined ? {} : { body })
    assert.ok(status < 300, `${method} ${path}: ${JSON.stringify(answer)}`)
  }

  group(groupId: number): Promise<void> {
    return this.call('POST', '/groups', { name: 'Group', group_id: groupId })
  }

  /** Stores parking zones with these names. */
  put(path: string, ...names: string[]): Promise<void> {
    const features = names.map((name) => ({
      type: 'Feature',
      id: name,
      geometry: { type: 'Point', coordinates: [-81.6, 28.4] },
      properties: { name, type: 'parking', radius_m: 25 },
    }))
    return this.call('PUT', path, { type: 'FeatureCollection', features })
  }

  /** Connects a teebox; registers it in a group if it is new. */
  async teebox(hardwareId: string, groupId: number, options: IClientOptions = {}): Promise<Listener> {
    if (!this.#passwords.has(hardwareId)) {
      this.#passwords.set(hardwareId, await this.gateway.register(hardwareId))
      await this.call('PUT', `/groups/${groupId}/devices/${hardwareId}`)
    }
    const password = this.#passwords.get(hardwareId) ?? assert.fail()
    return new Listener(await this.gateway.connect(hardwareId, password, { reconnectPeriod: 0, ...options }))
  }

  async program(): Promise<Listener> {
    return new Listener(await this.gateway.program())
  }
}

/** Zones that a client receives: `version name name …`, with ! if retained. */
class Listener {
  readonly client: MqttClient
  readonly received: string[] = []

  constructor(client: MqttClient) {
    this.client = client
    client.on('message', (_topic, payload, { retain }) => {
      const { v, z } = compactZonesSchema.parse(JSON.parse(payload.toString()))
      this.received.push([retain ? `!${v}` : v, ...z.map(({ i }) => i)].join(' '))
    })
  }

  async subscribe(groupId: number): Promise<this> {
    await this.client.subscribeAsync(`sit/${groupId}/sz`, { qos: 1 })
    return this
  }

  async receives(...expected: string[]): Promise<void> {
    await eventually(() => this.received.length >= expected.length, `${expected} and not ${this.received}`)
    assert.deepEqual(this.received, expected)
  }
}

test('a teebox that joins a group receives its zones, even if none was ever drawn', async (t) => {
  const course = await Course.open(t)
  await course.group(1)
  await course.group(2)
  await course.put('/groups/1/geofences', 'green', 'barn')
  await (await (await course.teebox('a', 1)).subscribe(1)).receives('!1 green barn')
  await (await (await course.teebox('b', 2)).subscribe(2)).receives('!0')
})

test('every change reaches connected teeboxes and those that come back', async (t) => {
  const course = await Course.open(t)
  await course.group(1)
  const here = await (await course.teebox('here', 1)).subscribe(1)
  const away = await (await course.teebox('away', 1, KEPT)).subscribe(1)
  await away.receives('!0')
  await away.client.endAsync()
  await course.put('/groups/1/geofences', 'green')
  await course.put('/geofences/1', 'barn')
  await course.call('DELETE', '/geofences/1')
  await here.receives('!0', '1 green', '2 barn', '3')
  await (await course.teebox('away', 1, KEPT)).receives('1 green', '2 barn', '3')
})

test('versions and zones stay the same over a restart', async (t) => {
  const course = await Course.open(t)
  await course.group(1)
  await course.group(2)
  await course.put('/groups/1/geofences', 'green')
  const away = await (await course.teebox('away', 1, KEPT)).subscribe(1)
  await away.receives('!1 green')
  await away.client.endAsync()
  await course.put('/groups/1/geofences', 'barn')
  await course.gateway.restart()
  const back = await course.teebox('away', 1, KEPT)
  await back.receives('2 barn')
  await back.subscribe(1)
  await back.receives('2 barn', '!2 barn')
  await (await (await course.teebox('b', 2)).subscribe(2)).receives('!0')
  await course.put('/groups/1/geofences', 'green')
  await back.receives('2 barn', '!2 barn', '3 green')
})

test('deleting a group empties the zones of its subscribers', async (t) => {
  const course = await Course.open(t)
  await course.group(1)
  await course.put('/groups/1/geofences', 'green')
  const admin = await (await course.program()).subscribe(1)
  await admin.receives('!1 green')
  await course.call('DELETE', '/groups/1')
  await admin.receives('!1 green', '2')
  await course.group(1)
  await course.put('/groups/1/geofences', 'barn')
  await admin.receives('!1 green', '2', '3 barn')
})

test('a teebox reads the zones of its own group only, and no longer once it has left', async (t) => {
  const course = await Course.open(t)
  await course.group(1)
  await course.group(2)
  const a = await course.teebox('a', 1)
  await assert.rejects(a.client.subscribeAsync('sit/2/sz', { qos: 1 }))
  const b = await (await course.teebox('b', 1)).subscribe(1)
  await b.receives('!0')
  await course.call('PUT', '/groups/2/devices/b')
  await course.put('/groups/1/geofences', 'green')
  await course.put('/groups/2/geofences', 'barn')
  await b.subscribe(2)
  await b.receives('!0', '!1 barn')
})

test('the last published zones are the stored ones, despite concurrent changes', async (t) => {
  const course = await Course.open(t)
  await course.group(1)
  const admin = await (await course.program()).subscribe(1)
  await Promise.all(Array.from({ length: 10 }, (_, i) => course.put('/groups/1/geofences', `zone-${i}`)))
  const { body } = await course.gateway.request('GET', '/groups/1/geofences')
  await eventually(() => admin.received.length === 11, 'all of them')
  const shown = admin.received.map((line) => line.split(' ')[0])
  assert.deepEqual(shown, ['!0', ...Array.from({ length: 10 }, (_, i) => String(i + 1))])
  assert.equal(admin.received.at(-1), `10 ${body.features[0].id}`)
})

test('zones that a teebox does not act on are not sent to it', async (t) => {
  const course = await Course.open(t)
  await course.group(1)
  const feature = (id: string, properties: object) => ({
    type: 'Feature',
    id,
    geometry: { type: 'Point', coordinates: [-81.6, 28.4] },
    properties: { name: id, radius_m: 25, ...properties },
  })
  const features = [
    feature('off', { type: 'stop', enabled: false }),
    feature('text', { type: 'message' }),
    feature('slow', { type: 'slow', max_speed_kmh: 8 }),
  ]
  await course.call('PUT', '/groups/1/geofences', { type: 'FeatureCollection', features })
  await (await (await course.teebox('a', 1)).subscribe(1)).receives('!1 slow')
})
