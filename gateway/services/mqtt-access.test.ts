import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { MqttClient } from 'mqtt'
import { eventually } from '#shared/testing/eventually.ts'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'

let g: TestGateway
let password: string
let viewer: { userId: string; key: string }

before(async () => {
  g = await startGateway({})
  password = await g.register('cart-1', 'cartcaddie')
  await g.request('POST', '/groups', { body: { name: 'Course', group_id: 42 } })
  await g.request('PUT', '/groups/42/devices/cart-1')
  viewer = await g.createUser({ allowed_hardware_ids: ['cart-1'] })
})
after(() => g.stop())

const connectCart = () => g.connect('cart-1', password, { clientId: 'cart-1' })

async function granted(client: MqttClient, filter: string): Promise<number | undefined> {
  // the client rejects what the broker denies, with the codes of its SUBACK
  const granted = await client.subscribeAsync(filter, { qos: 1 }).catch(() => [{ qos: 128 }])
  return granted[0]?.qos
}

/** Messages that a client receives until one that is published last. */
async function receivedDuring(client: MqttClient, filters: readonly string[], cause: () => Promise<unknown>) {
  const messages: { topic: string; payload: string }[] = []
  const last = Promise.withResolvers<void>()
  client.on('message', (topic, payload) => {
    messages.push({ topic, payload: payload.toString() })
    if (topic === 'dev/cart-1/tlm') last.resolve()
  })
  for (const filter of filters) await granted(client, filter)
  await cause()
  const cart = await connectCart()
  await cart.publishAsync('dev/cart-1/tlm', '{"lat":48,"long":11}', { qos: 1 })
  await last.promise
  await client.endAsync()
  return messages
}

const ZONES = {
  type: 'FeatureCollection',
  features: [
    {
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [11, 48] },
      properties: { name: 'Green', type: 'stop', radius_m: 20 },
    },
  ],
}

test('configuration and zones, which only admins read over HTTP, are hidden from others over MQTT', async () => {
  for (const path of ['/devices/cart-1/config', '/groups/42/geofences'])
    assert.equal((await g.request('GET', path, { key: viewer.key })).status, 403)
  const program = await g.program({}, viewer)
  for (const filter of ['dev/cart-1/cfg', 'dev/+/cfg', 'sit/42/sz', 'sit/+/sz', 'sit/#', 'dev/cart-1/key'])
    assert.equal(await granted(program, filter), 128, filter)
  for (const filter of ['dev/cart-1/tlm', 'dev/+/evt', 'dev/cart-1/#', 'dev/+/+', 'dev/cart-1/cmd'])
    assert.equal(await granted(program, filter), 1, filter)
  await program.endAsync()
  const topics = await receivedDuring(await g.program({}, viewer), ['#', 'dev/cart-1/+', '+/#'], async () => {
    await g.request('PUT', '/devices/cart-1/config', { body: { realtime_enabled: true } })
    await g.request('PUT', '/groups/42/geofences', { body: ZONES })
  })
  assert.ok(topics.length > 0)
  for (const { topic } of topics) assert.doesNotMatch(topic, /\/(cfg|sz)$/)
  const all = await receivedDuring(await g.program(), ['#'], async () => undefined)
  assert.ok(all.some(({ topic }) => topic === 'dev/cart-1/cfg'))
})

describe('staff', () => {
  const staff = (allowed: string[]) => g.createUser({ role: 'staff', allowed_hardware_ids: allowed })

  test('read what they read over HTTP: devices in scope, zones of all groups, no configuration', async () => {
    const { userId, key } = await staff(['cart-1'])
    assert.equal((await g.request('GET', '/me', { key })).body.mqtt.username, userId)
    for (const [path, status] of [
      ['/groups/42/geofences', 200],
      ['/devices/cart-1/config', 403],
    ] as const)
      assert.equal((await g.request('GET', path, { key })).status, status, path)
    const program = await g.program({}, { userId, key })
    const anywhere = ['#', '+/#', 'dev/#', 'dev/+/+', 'dev/+/evt', 'dev/cart-1/tlm']
    for (const filter of [...anywhere, 'sit/42/sz', 'sit/+/sz', 'sit/#'])
      assert.equal(await granted(program, filter), 1, filter)
    for (const filter of ['dev/cart-1/cfg', 'dev/+/cfg', 'dev/+/key', 'dev/cart-2/tlm', 'sit/42/cfg'])
      assert.equal(await granted(program, filter), 128, filter)
    await program.endAsync()
    const topics = await receivedDuring(await g.program({}, { userId, key }), ['#'], async () => {
      await g.request('PUT', '/devices/cart-1/config', { body: { realtime_enabled: false } })
      await g.request('PUT', '/groups/42/geofences', { body: ZONES })
    })
    assert.ok(topics.some(({ topic }) => topic === 'sit/42/sz'))
    for (const { topic } of topics) assert.doesNotMatch(topic, /\/(cfg|key)$/)
  })

  test('see every device with *, also one registered later, and only their own without', async () => {
    const [all, none] = [await staff(['*']), await staff(['some-other'])]
    const [seeing, blind] = [await g.program({}, all), await g.program({}, none)]
    const seen: string[] = []
    seeing.on('message', (topic) => seen.push(topic))
    blind.on('message', (topic) => seen.push(`blind ${topic}`))
    for (const program of [seeing, blind]) assert.equal(await granted(program, 'dev/#'), 1)
    const later = await g.device(`later-${all.userId}`)
    await later.publishAsync(`dev/later-${all.userId}/tlm`, '{"speed":1}', { qos: 1 })
    await eventually(() => seen.length > 0, 'a message of the new device')
    // the response to the other client is queued after all messages that it would have received
    await blind.unsubscribeAsync('dev/#')
    assert.deepEqual([...new Set(seen)], [`dev/later-${all.userId}/tlm`])
    for (const program of [seeing, blind, later]) await program.endAsync()
  })

  test('cannot publish', async () => {
    for (const topic of ['news', 'dev/cart-1/cmd', 'sit/42/sz']) {
      const program = await g.program({}, await staff(['*']))
      const closed = new Promise<void>((resolve) => program.once('close', () => resolve()))
      program.publish(topic, 'x', { qos: 1 })
      await closed
    }
  })

  test('who become users receive no more zones, and nothing once their key is revoked', async () => {
    const user = await staff(['*'])
    const program = await g.program({}, user)
    const seen: string[] = []
    program.on('message', (topic) => seen.push(topic))
    assert.equal(await granted(program, 'sit/#'), 1)
    await eventually(() => seen.includes('sit/42/sz'), 'the zones')
    await g.request('PATCH', `/users/${user.userId}`, { body: { role: 'user' } })
    seen.length = 0
    await g.request('PUT', '/groups/42/geofences', { body: ZONES })
    await program.unsubscribeAsync('sit/#')
    assert.deepEqual(seen, [])
    assert.equal(await granted(program, 'sit/#'), 128)
    const closed = new Promise<void>((resolve) => program.once('close', () => resolve()))
    await g.request('POST', `/users/${user.userId}/rotate-key`)
    await closed
  })
})

test('only admins see the address of zones, which contains a token, in a command', async () => {
  const device = await connectCart()
  await device.subscribeAsync('dev/cart-1/cmd', { qos: 1 })
  const received = Promise.withResolvers<{ params: { url: string } }>()
  device.on('message', (_, payload) => received.resolve(JSON.parse(payload.toString())))
  const path = '/devices/cart-1/commands'
  const asked = { key: viewer.key, body: { command: 'fetch_geofences' } }
  const { body } = await g.request('POST', path, asked)
  const { url } = (await received.promise).params
  assert.match(url, /token=/)
  assert.equal(body.params.url, 'sent to the device')
  assert.equal(typeof body.params.version, 'number')
  const urlFor = async (key: string) => [
    (await g.request('GET', `/commands/${body.command_id}`, { key })).body.params.url,
    (await g.request('GET', path, { key })).body.commands[0].params.url,
  ]
  assert.deepEqual(await urlFor(viewer.key), ['sent to the device', 'sent to the device'])
  assert.deepEqual(await urlFor(ADMIN_KEY), [url, url])
  await device.endAsync()
  for (const program of [await g.program({}, viewer), await g.program()]) {
    const messages = await receivedDuring(program, ['dev/+/cmd', 'dev/+/tlm'], async () => {
      const cart = await connectCart()
      await cart.subscribeAsync('dev/cart-1/cmd', { qos: 1 })
      await g.request('POST', path, asked)
      await cart.endAsync()
    })
    const shown = messages.filter(({ topic }) => topic.endsWith('/cmd')).map(({ payload }) => payload)
    assert.notEqual(shown.length, 0)
    for (const text of shown) {
      assert.match(text, /"sent to the device"/)
      assert.doesNotMatch(text, /token=/)
    }
  }
})
