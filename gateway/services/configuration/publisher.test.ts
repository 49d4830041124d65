import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import Database from 'better-sqlite3'
import type { MqttClient } from 'mqtt'
import { eventually } from '#shared/testing/eventually.ts'
import { PACKET, readPublish } from '#testing/mqtt-packets.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

let g: TestGateway

before(async () => {
  g = await startGateway({}, {})
})
after(() => g.stop())

interface ConfigMessage {
  v: number
  ts: number
  group_id: number | null
  config: Record<string, unknown>
}

/** Everything that a client receives on `cfg` topics, by device, in order. */
class Received {
  readonly #byDevice = new Map<string, ConfigMessage[]>()
  readonly retained: boolean[] = []

  constructor(client: MqttClient) {
    client.on('message', (topic, payload, { retain }) => {
      const [, hardwareId = '', level] = topic.split('/')
      if (level !== 'cfg') return
      this.#byDevice.set(hardwareId, [...this.of(hardwareId), JSON.parse(payload.toString())])
      this.retained.push(retain)
    })
  }

  of(hardwareId: string): ConfigMessage[] {
    return this.#byDevice.get(hardwareId) ?? []
  }

  get total(): number {
    return [...this.#byDevice.values()].reduce((total, messages) => total + messages.length, 0)
  }

  /** Last message that a device must have. */
  async ends(hardwareId: string): Promise<ConfigMessage> {
    const { version } = await configOf(hardwareId)
    await eventually(() => this.of(hardwareId).at(-1)?.v === version, `version ${version} of ${hardwareId}`)
    const last = this.of(hardwareId).at(-1)
    assert.ok(last)
    return last
  }
}

async function configOf(hardwareId: string) {
  const { status, body } = await g.request('GET', `/devices/${hardwareId}/config`)
  assert.equal(status, 200)
  return body
}

/** Returns the device's last message according to the API. */
async function expectedMessage(hardwareId: string): Promise<ConfigMessage> {
  const { version, published_at, group_id, resolved } = await configOf(hardwareId)
  return { v: version, ts: Date.parse(published_at), group_id, config: resolved }
}

/** Connects a device again and returns the retained configuration. */
async function found(hardwareId: string, password: string): Promise<ConfigMessage> {
  const client = await g.connect(hardwareId, password)
  const received = new Received(client)
  await client.subscribeAsync(`dev/${hardwareId}/cfg`, { qos: 1 })
  const message = await received.ends(hardwareId)
  await client.endAsync()
  return message
}

/** Client that reads all current and later configurations. */
async function readAll(hardwareIds: readonly string[]): Promise<Received> {
  const client = await g.program()
  const received = new Received(client)
  await client.subscribeAsync('dev/+/cfg', { qos: 1 })
  for (const hardwareId of hardwareIds) await received.ends(hardwareId)
  return received
}

async function put(path: string, body: unknown) {
  const answer = await g.request('PUT', path, { body })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

async function newGroup(): Promise<number> {
  return (await g.request('POST', '/groups', { body: { name: 'Group' } })).body.group_id
}

async function assign(groupId: number, ...hardwareIds: string[]): Promise<void> {
  for (const hardwareId of hardwareIds) await put(`/groups/${groupId}/devices/${hardwareId}`, {})
}

const TYPE_LAYER = { realtime_enabled: true, key_keyless_state: 'key' }

test('a device finds its first configuration as soon as it is registered', async () => {
  const message = await found('first', await g.register('first'))
  assert.deepEqual(message, await expectedMessage('first'))
  assert.deepEqual([message.group_id, message.config], [null, TYPE_LAYER])
})

test('a connected device receives each change immediately, with the content the API shows', async () => {
  const groupId = await newGroup()
  const client = await g.device('live')
  const received = new Received(client)
  await client.subscribeAsync('dev/live/cfg', { qos: 1 })
  await received.ends('live')
  for (const [path, layer, published] of [
    [`/groups/${groupId}/devices/live`, {}, undefined],
    [`/groups/${groupId}/config/teebox`, { key_keyless_state: 'keyless' }, 1],
    ['/devices/live/config', { beep: 1 }, 1],
    [`/groups/${groupId}/config/teebox`, { key_keyless_state: 'keyless', beep: 2 }, 0],
    ['/devices/live/config', {}, 1],
    ['/devices/live', { name: null, device_type: 'cartcaddie', group_id: groupId }, undefined],
    ['/devices/live', { name: null, device_type: 'cartcaddie', group_id: null }, undefined],
  ] as [string, object, number | undefined][]) {
    assert.equal((await put(path, layer)).published, published)
    assert.deepEqual(await received.ends('live'), await expectedMessage('live'))
  }
  const versions = received.of('live').map(({ v }) => v)
  assert.equal(versions.length, 7)
  assert.deepEqual(
    versions,
    [...new Set(versions)].toSorted((a, b) => a - b),
  )
  const shown = received.of('live').map(({ config }) => config)
  assert.deepEqual(shown, [
    TYPE_LAYER,
    TYPE_LAYER,
    { ...TYPE_LAYER, key_keyless_state: 'keyless' },
    { ...TYPE_LAYER, key_keyless_state: 'keyless', beep: 1 },
    { ...TYPE_LAYER, key_keyless_state: 'keyless', beep: 2 },
    TYPE_LAYER,
    TYPE_LAYER,
  ])
  // the first was retained before it subscribed, the others followed live
  assert.deepEqual(received.retained, [true, ...Array.from({ length: 6 }, () => false)])
})

test("a device may read the zones of its new group as soon as it receives the group's configuration", async () => {
  const groupId = await newGroup()
  const client = await g.device('reader')
  await client.subscribeAsync('dev/reader/cfg', { qos: 1 })
  const subscribed = new Promise((resolve, reject) => {
    client.on('message', (_topic, payload) => {
      if (JSON.parse(payload.toString()).group_id === groupId)
        client.subscribeAsync(`sit/${groupId}/sz`, { qos: 1 }).then(resolve, reject)
    })
    client.once('close', () => reject(new Error('closed')))
  })
  await assign(groupId, 'reader')
  await subscribed
})

for (const restart of ['', ' and a restart of the gateway']) {
  test(`after a change${restart} an offline device finds it, with a kept or a clean session`, async () => {
    const id = restart === '' ? 'away' : 'restarted'
    const groupId = await newGroup()
    const [cleanPassword, keptPassword] = [await g.register(`${id}-clean`), await g.register(`${id}-kept`)]
    await assign(groupId, `${id}-clean`, `${id}-kept`)
    const kept = await g.connect(`${id}-kept`, keptPassword, { clean: false })
    const before = new Received(kept)
    await kept.subscribeAsync(`dev/${id}-kept/cfg`, { qos: 1 })
    await before.ends(`${id}-kept`)
    await kept.endAsync()
    await put(`/groups/${groupId}/config/teebox`, { key_keyless_state: 'keyless' })
    if (restart !== '') await g.restart()

    const message = await found(`${id}-clean`, cleanPassword)
    assert.deepEqual(message, await expectedMessage(`${id}-clean`))
    assert.equal(message.config.key_keyless_state, 'keyless')

    // without subscribing again: queued messages arrive on their own
    const back = await RawMqtt.open(g.mqtt)
    await back.login({ clientId: `${id}-kept`, username: `${id}-kept`, password: keptPassword, clean: false })
    const waiting = readPublish(await back.next(PACKET.publish))
    assert.deepEqual(JSON.parse(waiting.payload), await expectedMessage(`${id}-kept`))
    back.destroy()
  })
}

test('a change is published only to the devices whose configuration it changes', async () => {
  const groupId = await newGroup()
  const ids = ['n-1', 'n-2', 'n-3', 'n-4']
  for (const id of ids) await g.register(id, id === 'n-4' ? 'cartcaddie' : 'teebox')
  await assign(groupId, 'n-1', 'n-2', 'n-4')
  await put('/devices/n-2/config', { key_keyless_state: 'keyless' })
  const received = await readAll(ids)
  const known = received.total
  const versions = await Promise.all(ids.map(async (id) => (await configOf(id)).version))

  await put(`/groups/${groupId}/config/teebox`, {})
  await put(`/groups/${groupId}/config/teebox`, { key_keyless_state: 'key' })
  await put(`/groups/${groupId}/config/teebox`, { key_keyless_state: 'key', realtime_enabled: true })
  await put('/devices/n-1/config', { realtime_enabled: true })
  await put('/devices/n-1/config', { realtime_enabled: null })
  await put('/devices/n-1', { name: 'One', group_id: groupId, device_type: 'teebox' })
  await assign(groupId, 'n-1')
  await g.request('PATCH', `/groups/${groupId}`, { body: { name: 'Other' } })
  await g.request('DELETE', '/devices/n-1/config')
  const { body: teebox } = await g.request('GET', '/device-types/teebox')
  const { name: _, ...unchanged } = teebox
  assert.equal((await put('/device-types/teebox', { ...unchanged, description: 'Same.' })).published, 0)
  assert.deepEqual(await Promise.all(ids.map(async (id) => (await configOf(id)).version)), versions)

  const changed = await put(`/groups/${groupId}/config/teebox`, { key_keyless_state: 'keyless' })
  assert.deepEqual([changed.devices, changed.published], [2, 1])
  await received.ends('n-1')
  assert.equal(received.total, known + 1)
})

test('a changed default is published to every device of the type, and to no other', async () => {
  const { body: ranger } = await g.request('GET', '/device-types/cartcaddie')
  const { name: _, ...type } = ranger
  await put('/device-types/ranger', type)
  for (const id of ['r-1', 'r-2', 'r-3']) await g.register(id, 'ranger')
  await put('/devices/r-3/config', { key_keyless_state: 'keyless' })
  const received = await readAll(['r-1', 'r-2', 'r-3', 'n-1'])
  const total = received.total
  const defaults = { ...TYPE_LAYER, key_keyless_state: 'keyless' }
  assert.equal((await put('/device-types/ranger', { ...type, defaults })).published, 2)
  for (const id of ['r-1', 'r-2']) assert.deepEqual((await received.ends(id)).config, defaults)
  assert.equal(received.total, total + 2)
})

test('versions continue above those of the previous device with the same id, also after a restart', async () => {
  await g.register('reborn')
  await put('/devices/reborn/config', { beep: 1 })
  let { version } = await configOf('reborn')
  for (let life = 0; life < 3; life++) {
    await g.request('DELETE', '/devices/reborn')
    if (life === 1) await g.restart()
    const message = await found('reborn', await g.register('reborn'))
    assert.ok(message.v > version)
    assert.deepEqual(message.config, TYPE_LAYER)
    version = message.v
  }
})

test('a deleted device leaves no retained message, whatever is changed at the same time', async () => {
  const groupId = await newGroup()
  const password = await g.register('leaving')
  await assign(groupId, 'leaving')
  await Promise.all([
    put(`/groups/${groupId}/config/teebox`, { beep: 1 }),
    g.request('DELETE', '/devices/leaving'),
    g.request('PUT', `/groups/${groupId}/config/teebox`, { body: { beep: 2 } }),
    g.request('PUT', '/devices/leaving/config', { body: { beep: 3 } }),
  ])
  await assert.rejects(g.connect('leaving', password))
  const database = new Database(join(g.config.dataDir, 'cartbarn.db'), { readonly: true })
  const rows = database.prepare("SELECT topic FROM mqtt_retained WHERE topic LIKE 'dev/leaving/%'").all()
  database.close()
  assert.deepEqual(rows, [])
})

test('concurrent changes end in the state the API shows, and no device receives an older version', async () => {
  const groups = [await newGroup(), await newGroup()]
  const ids = Array.from({ length: 8 }, (_, i) => `c-${i}`)
  for (const [i, id] of ids.entries()) await g.register(id, i % 3 === 0 ? 'cartcaddie' : 'teebox')
  const received = await readAll(ids)
  const changes: Promise<unknown>[] = []
  for (let i = 0; i < 200; i++) {
    const group = groups[i % 2]
    const id = ids[(i * 5) % ids.length]
    const type = i % 3 === 0 ? 'cartcaddie' : 'teebox'
    const paths: [string, object][] = [
      [`/groups/${group}/config/${type}`, { step: i % 7, key_keyless_state: i % 2 ? 'key' : 'keyless' }],
      [`/groups/${group}/devices/${id}`, {}],
      [`/devices/${id}/config`, i % 5 === 0 ? {} : { own: i % 4 }],
      [`/devices/${id}`, { device_type: type, name: `Cart ${i}`, group_id: group }],
    ]
    const [path, body] = paths[(i * 7 + Math.floor(i / 9)) % paths.length] ?? ['', {}]
    changes.push(put(path, body))
  }
  await Promise.all(changes)
  for (const id of ids) {
    assert.deepEqual(await received.ends(id), await expectedMessage(id))
    const versions = received.of(id).map(({ v }) => v)
    assert.deepEqual(
      versions,
      [...new Set(versions)].toSorted((a, b) => a - b),
    )
  }
  const retained = await readAll(ids)
  for (const id of ids) assert.deepEqual(retained.of(id), [await expectedMessage(id)])
})

describe('while the store cannot be written', () => {
  test('a change is rejected with 503, and memory and messages stay unchanged', async () => {
    const groupId = await newGroup()
    const client = await g.device('steady')
    const received = new Received(client)
    await client.subscribeAsync('dev/steady/cfg', { qos: 1 })
    await assign(groupId, 'steady')
    const known = await received.ends('steady')
    const shown = await configOf('steady')
    const types = (await g.request('GET', '/device-types')).body
    const database = new Database(join(g.config.dataDir, 'cartbarn.db'))
    database.exec('BEGIN EXCLUSIVE')
    try {
      const { name: _, ...teebox } = types.find((type: { name: string }) => type.name === 'teebox')
      const answers = await Promise.all(
        (
          [
            ['PUT', '/devices/steady/config', { beep: 1 }],
            ['PUT', `/groups/${groupId}/config/teebox`, { beep: 2 }],
            ['PUT', '/device-types/teebox', { ...teebox, defaults: { realtime_enabled: false } }],
            ['DELETE', `/groups/${groupId}/devices/steady`, undefined],
            ['PUT', '/devices/steady', { name: null, device_type: 'cartcaddie', group_id: groupId }],
            ['POST', '/devices', { hardware_id: 'unborn', device_type: 'teebox' }],
            ['DELETE', '/devices/steady', undefined],
          ] as [string, string, object | undefined][]
        ).map(([method, path, body]) => g.request(method, path, body === undefined ? {} : { body })),
      )
      const statuses = answers.map(({ status }) => status)
      const expected = answers.map(() => 503)
      assert.deepEqual(statuses, expected)
    } finally {
      database.exec('ROLLBACK')
      database.close()
    }
    assert.deepEqual(await configOf('steady'), shown)
    assert.deepEqual((await g.request('GET', '/device-types')).body, types)
    const isUsable = async () =>
      (await g.request('PUT', '/devices/steady/config', { body: { beep: 4 } })).status === 200
    await eventually(isUsable, 'usable again')
    // it received only one more message in all that time
    assert.deepEqual((await received.ends('steady')).config, { ...TYPE_LAYER, beep: 4 })
    assert.deepEqual(received.of('steady').at(-2), known)
    assert.equal((await found('first', await passwordOf('first'))).config.beep, undefined)
    await g.register('unborn')
  })
})

async function passwordOf(hardwareId: string): Promise<string> {
  return (await g.request('POST', `/devices/${hardwareId}/rotate-mqtt-password`)).body.mqtt.password
}

describe('at the start', () => {
  test('devices from before configurations existed receive theirs', async () => {
    const own = g
    g = await startGateway({}, {})
    try {
      const passwords = new Map<string, string>()
      for (const id of ['old-1', 'old-2']) passwords.set(id, await g.register(id))
      await g.restart(() => {
        const database = new Database(join(g.config.dataDir, 'cartbarn.db'))
        database.exec("DELETE FROM mqtt_retained WHERE topic LIKE 'dev/%/cfg'")
        // as an upgrade leaves a database without versions
        database.exec('UPDATE config_version SET version = 0')
        database.close()
      })
      for (const [id, password] of passwords) {
        const message = await found(id, password)
        assert.deepEqual(message, await expectedMessage(id))
        assert.deepEqual(message.config, TYPE_LAYER)
      }
      const versions = [(await configOf('old-1')).version, (await configOf('old-2')).version]
      await g.restart()
      assert.deepEqual([(await configOf('old-1')).version, (await configOf('old-2')).version], versions)
    } finally {
      await g.stop()
      g = own
    }
  })

  test('only devices whose configuration resolves to something new receive it', async () => {
    const [password, otherPassword] = [await g.register('updated'), await g.register('same', 'cartcaddie')]
    await put('/devices/updated/config', { beep: 1 })
    const [known, other] = [await configOf('updated'), await configOf('same')]
    await g.restart(() => {
      const database = new Database(join(g.config.dataDir, 'cartbarn.db'))
      database
        .prepare('UPDATE device_config SET config = ? WHERE config = \'{"beep":1}\'')
        .run('{"beep":2,"later":true}')
      database.close()
    })
    const message = await found('updated', password)
    assert.deepEqual(message, await expectedMessage('updated'))
    assert.deepEqual(message.config, { ...TYPE_LAYER, beep: 2, later: true })
    assert.ok(message.v > known.version)
    assert.equal((await found('same', otherPassword)).v, other.version)
  })
})

describe('the configuration version that a device reports as applied', () => {
  test('is shown as soon as it is acknowledged, and after a restart', async () => {
    const password = await g.register('applying')
    const client = await g.connect('applying', password)
    const startedAtMs = Date.now()
    const { version } = await configOf('applying')
    await client.publishAsync('dev/applying/ack', JSON.stringify({ cfg: version }), { qos: 1 })
    const config = await configOf('applying')
    assert.equal(config.applied_version, version)
    assert.ok(Date.parse(config.applied_at) >= startedAtMs)
    await client.publishAsync('dev/applying/ack', '{"sz":7,"id":"x","st":"completed"}', { qos: 1 })
    await client.publishAsync('dev/applying/ack', '{"id":"y","st":"failed"}', { qos: 1 })
    const details = (await g.request('GET', '/devices/applying/details')).body
    assert.deepEqual(details.config, config)
    assert.equal(details.geofences.applied_version, 7)
    assert.ok(Date.parse(details.geofences.applied_at) >= startedAtMs)
    await g.restart()
    assert.deepEqual(await configOf('applying'), config)
    assert.deepEqual((await g.request('GET', '/devices/applying/details')).body.geofences, details.geofences)
  })

  test('is rejected if it is not a version, and is deleted with the device', async () => {
    const client = await g.device('confused')
    await client.publishAsync('dev/confused/ack', '{"cfg":3}', { qos: 1 })
    for (const payload of ['{"cfg":"4"}', '{"cfg":4.5}', '{"cfg":null}', '[{"cfg":4}]', '{"cfg":1e400}'])
      await client.publishAsync('dev/confused/ack', payload, { qos: 1 })
    assert.equal((await configOf('confused')).applied_version, 3)
    const { dropped } = (await g.request('GET', '/devices/confused/details')).body
    assert.deepEqual(dropped, { invalid_ack: 4, not_a_number: 1 })
    await g.request('DELETE', '/devices/confused')
    await g.register('confused')
    assert.equal((await configOf('confused')).applied_version, null)
  })
})
