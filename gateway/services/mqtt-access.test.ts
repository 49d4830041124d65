import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { MqttClient } from 'mqtt'
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
  // the client rejects what the broker refuses, with the codes of its SUBACK
  const granted = await client.subscribeAsync(filter, { qos: 1 }).catch(() => [{ qos: 128 }])
  return granted[0]?.qos
}

/** What a program hears until a message arrives that is published last. */
async function heard(client: MqttClient, filters: readonly string[], cause: () => Promise<unknown>) {
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

test('what only admins read over HTTP, others do not get over MQTT: configuration and zones', async () => {
  for (const path of ['/devices/cart-1/config', '/groups/42/geofences'])
    assert.equal((await g.request('GET', path, { key: viewer.key })).status, 403)
  const program = await g.program({}, viewer)
  for (const filter of ['dev/cart-1/cfg', 'dev/+/cfg', 'sit/42/sz', 'sit/+/sz', 'sit/#', 'dev/cart-1/key'])
    assert.equal(await granted(program, filter), 128, filter)
  for (const filter of ['dev/cart-1/tlm', 'dev/+/evt', 'dev/cart-1/#', 'dev/+/+', 'dev/cart-1/cmd'])
    assert.equal(await granted(program, filter), 1, filter)
  await program.endAsync()
  const topics = await heard(await g.program({}, viewer), ['#', 'dev/cart-1/+', '+/#'], async () => {
    await g.request('PUT', '/devices/cart-1/config', { body: { realtime_enabled: true } })
    await g.request('PUT', '/groups/42/geofences', { body: ZONES })
  })
  assert.ok(topics.length > 0)
  for (const { topic } of topics) assert.doesNotMatch(topic, /\/(cfg|sz)$/)
  const all = await heard(await g.program(), ['#'], async () => undefined)
  assert.ok(all.some(({ topic }) => topic === 'dev/cart-1/cfg'))
})

test('the address of zones, which has a token, is shown to admins alone, wherever a command is shown', async () => {
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
    const messages = await heard(program, ['dev/+/cmd', 'dev/+/tlm'], async () => {
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
