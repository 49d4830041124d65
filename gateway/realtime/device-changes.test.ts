import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { RealtimeClient } from '#testing/realtime-client.ts'
import { publish } from '#testing/scene.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

let g: TestGateway
let count = 0

before(async () => {
  g = await startGateway()
})
after(() => g.stop())

async function newDevice(): Promise<string> {
  const id = `box-${++count}`
  await g.register(id)
  return id
}

async function watcherOf(key: string, ...hardwareIds: string[]): Promise<RealtimeClient> {
  const watcher = await g.realtime(key)
  await watcher.subscribe(...hardwareIds)
  return watcher
}

const change = (id: string, body: object) => g.request('PATCH', `/devices/${id}`, { body })

test('subscribers of a device receive changes made by users, as GET /devices shows them', async () => {
  const [id, other] = [await newDevice(), await newDevice()]
  const { key } = await g.createUser({ allowed_hardware_ids: [id] })
  const { group_id } = (await g.request('POST', '/groups', { body: { name: `G ${id}` } })).body
  const watchers = [await watcherOf(key, id), await watcherOf(key, '*')]
  const others = [await watcherOf(key), await g.realtime()]
  await others[1]?.subscribe(other)
  for (const [method, path, body] of [
    ['PATCH', `/devices/${id}`, { name: 'Nine' }],
    ['PATCH', `/devices/${id}`, { cart: '9' }],
    ['PATCH', `/devices/${id}`, { cart: null }],
    ['PUT', `/devices/${id}`, { name: null, device_type: 'cartcaddie', group_id, cart: '10' }],
    ['DELETE', `/groups/${group_id}/devices/${id}`, undefined],
  ] as const) {
    const { status } = await g.request(method, path, body === undefined ? {} : { body })
    assert.equal(status, 200, `${method} ${path}`)
    const device = (await g.request('GET', `/devices/${id}`)).body
    for (const watcher of watchers)
      assert.deepEqual(await watcher.next('device_changed'), { type: 'device_changed', hardwareId: id, device })
  }
  for (const watcher of [...watchers, ...others]) assert.deepEqual(await watcher.flush(), [])
})

test('subscribers receive a new firmware version, which a device that leaves or sleeps keeps', async () => {
  const client = await g.device('updated')
  const watcher = await g.realtime()
  await watcher.subscribe('updated')
  for (const [status, expected, isTold] of [
    [{ online: true, fw: '1.0' }, '1.0', true],
    [{ online: true, fw: '1.0', boot: 2 }, '1.0', false],
    [{ online: false, r: 'sleep' }, '1.0', false],
    [{ online: true, fw: '1.1' }, '1.1', true],
    [{ online: true }, undefined, true],
  ] as const) {
    await publish(client, 'dev/updated/st', JSON.stringify(status))
    const device = (await g.request('GET', '/devices/updated')).body
    assert.equal(device.firmware, expected)
    const changed = (await watcher.flush()).filter(({ type }) => type === 'device_changed')
    assert.deepEqual(
      changed.map((one) => one.device.firmware),
      isTold ? [expected] : [],
    )
  }
})

test('a change without effect sends no message', async () => {
  const id = await newDevice()
  await change(id, { name: 'One', cart: '1' })
  const watcher = await g.realtime()
  await watcher.subscribe(id)
  for (const body of [{}, { name: 'One' }, { cart: ' 1 ' }, { name: 'One', cart: '1' }]) await change(id, body)
  await change(id, { cart: 'site' })
  assert.deepEqual(await watcher.flush(), [])
})

test('a subscriber of everything receives the registration of a device', async () => {
  const id = `box-${count + 1}`
  const { key } = await g.createUser({ allowed_hardware_ids: [id] })
  const [seeing, blind] = [
    await watcherOf(key, '*'),
    await watcherOf((await g.createUser({ allowed_hardware_ids: ['none'] })).key, '*'),
  ]
  await newDevice()
  const { device } = await seeing.next('device_changed')
  assert.deepEqual(device, (await g.request('GET', `/devices/${id}`)).body)
  assert.deepEqual(await blind.flush(), [])
})

test('subscribers of a deleted device receive its removal once, and no message after it', async () => {
  const id = `box-${++count}`
  const password = await g.register(id)
  const { key } = await g.createUser({ allowed_hardware_ids: [id] })
  const [named, all, both] = [await watcherOf(key, id), await watcherOf(key, '*'), await watcherOf(key, id, '*')]
  const client = await g.connect(id, password)
  await Promise.all([named, all, both].map((watcher) => watcher.next('device_status')))
  await change(id, { name: 'Old' })
  for (const watcher of [named, all, both]) assert.equal((await watcher.next('device_changed')).device.name, 'Old')
  assert.equal((await g.request('DELETE', `/devices/${id}`)).status, 200)
  for (const watcher of [named, all, both])
    assert.deepEqual(await watcher.flush(), [{ type: 'device_removed', hardwareId: id }])
  await client.endAsync(true)
  // registered again, it is a new device with the same id
  await g.register(id)
  await change(id, { name: 'New' })
  assert.deepEqual(await named.flush(), [])
  const messages = (await all.flush()).filter(({ type }) => type === 'device_changed')
  assert.equal(messages.at(-1).device.name, 'New')
})
