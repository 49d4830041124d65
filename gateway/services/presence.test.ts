import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { RealtimeClient } from '#testing/realtime-client.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

let gateway: TestGateway
let count = 0

before(async () => {
  gateway = await startGateway()
})
after(() => gateway.stop())

/** Registers a device, observed by its own client. */
async function watchedDevice(): Promise<{ hardwareId: string; password: string; watcher: RealtimeClient }> {
  const hardwareId = `cart-${++count}`
  const password = await gateway.register(hardwareId)
  const watcher = await gateway.realtime()
  await watcher.subscribe(hardwareId)
  return { hardwareId, password, watcher }
}

async function nextStatus(watcher: RealtimeClient): Promise<boolean> {
  return (await watcher.next('device_status')).payload.is_online
}

async function statusesUntilNow(watcher: RealtimeClient): Promise<boolean[]> {
  const messages = await watcher.flush()
  return messages.filter(({ type }) => type === 'device_status').map(({ payload }) => payload.is_online)
}

async function isOnline(hardwareId: string): Promise<boolean> {
  return (await gateway.request('GET', `/devices/${hardwareId}`)).body.is_online
}

test('a device is online while it is connected, and subscribers are notified', async () => {
  const { hardwareId, password, watcher } = await watchedDevice()
  assert.equal(await isOnline(hardwareId), false)
  const device = await gateway.connect(hardwareId, password)
  const online = await watcher.next('device_status')
  assert.equal(online.hardwareId, hardwareId)
  assert.deepEqual(online.payload, { is_online: true })
  assert.ok(Math.abs(Date.parse(online.timestamp) - Date.now()) < 5_000)
  assert.equal(await isOnline(hardwareId), true)
  const { body } = await gateway.request('GET', `/devices/${hardwareId}/details`)
  assert.equal(body.mqtt.address, '127.0.0.1')
  assert.ok(Date.parse(body.mqtt.connected_since) <= Date.now())
  await device.endAsync()
  assert.equal(await nextStatus(watcher), false)
  assert.equal(await isOnline(hardwareId), false)
  const gone = await gateway.request('GET', `/devices/${hardwareId}/details`)
  assert.deepEqual(gone.body.mqtt, { connected_since: null, address: null, taken_over: 0 })
})

test('a broken connection makes the device offline', async () => {
  const { hardwareId, password, watcher } = await watchedDevice()
  const device = await gateway.connect(hardwareId, password)
  assert.equal(await nextStatus(watcher), true)
  device.stream.destroy()
  assert.equal(await nextStatus(watcher), false)
})

test('a device that disconnects cleanly is offline although its session is kept', async () => {
  const { hardwareId, password, watcher } = await watchedDevice()
  const device = await gateway.connect(hardwareId, password, { clean: false })
  assert.equal(await nextStatus(watcher), true)
  await device.subscribeAsync(`dev/${hardwareId}/cmd`, { qos: 1 })
  await device.endAsync()
  assert.equal(await nextStatus(watcher), false)
  assert.equal(await isOnline(hardwareId), false)
})

test('an offline status makes a connected device offline until it sends an online status', async () => {
  const { hardwareId, password, watcher } = await watchedDevice()
  const device = await gateway.connect(hardwareId, password)
  const say = (level: string, message: object) =>
    device.publishAsync(`dev/${hardwareId}/${level}`, JSON.stringify(message), { qos: 1 })
  assert.equal(await nextStatus(watcher), true)
  await say('st', { online: true, type: 'teebox' })
  assert.deepEqual(await statusesUntilNow(watcher), [])
  await say('st', { online: false, r: 'sleep' })
  assert.equal(await isOnline(hardwareId), false)
  await say('tlm', { speed: 0 })
  assert.equal(await isOnline(hardwareId), false)
  await say('st', { online: true })
  assert.equal(await isOnline(hardwareId), true)
  assert.deepEqual(await statusesUntilNow(watcher), [false, true])
  await say('st', { online: false })
  await device.endAsync()
  const again = await gateway.connect(hardwareId, password)
  assert.equal(await nextStatus(watcher), false)
  assert.equal(await nextStatus(watcher), true)
  await again.endAsync()
})

test('a device is online after a takeover; the last will of the old connection is ignored', async () => {
  const { hardwareId, password, watcher } = await watchedDevice()
  const will = { topic: `dev/${hardwareId}/st`, payload: Buffer.from('{"online":false}'), qos: 1 as const }
  const first = await gateway.connect(hardwareId, password, { will })
  const closed = new Promise<void>((resolve) => first.once('close', () => resolve()))
  const second = await gateway.connect(hardwareId, password, { will })
  await closed
  await second.publishAsync(`dev/${hardwareId}/tlm`, '{"speed":0}', { qos: 1 })
  assert.equal(await isOnline(hardwareId), true)
  assert.equal((await statusesUntilNow(watcher)).at(-1), true)
})

test('a last will moves updated_at but not last_responded_at, and is not the status', async () => {
  const { hardwareId, password, watcher } = await watchedDevice()
  const topic = `dev/${hardwareId}/st`
  const will = { topic, payload: Buffer.from('{"online":false,"r":"lost"}'), qos: 1 as const }
  const device = await gateway.connect(hardwareId, password, { will })
  await device.publishAsync(topic, '{"online":true,"fw":"1"}', { qos: 1 })
  const { body: before } = await gateway.request('GET', `/devices/${hardwareId}/details`)
  await watcher.flush()
  device.stream.destroy()
  assert.equal(await nextStatus(watcher), false)
  const second = await gateway.connect(hardwareId, password)
  // queued after the will
  await second.publishAsync(topic, '{"online":true,"fw":"1"}', { qos: 0 })
  const { body: after } = await gateway.request('GET', `/devices/${hardwareId}/details`)
  assert.deepEqual(after.status, { fw: '1' })
  assert.equal(after.last_responded_at, before.last_responded_at)
})

test('after a restart every device is offline until it connects again', async () => {
  const { hardwareId, password } = await watchedDevice()
  await gateway.connect(hardwareId, password)
  assert.equal(await isOnline(hardwareId), true)
  await gateway.restart()
  assert.equal(await isOnline(hardwareId), false)
  await gateway.connect(hardwareId, password)
  assert.equal(await isOnline(hardwareId), true)
})
