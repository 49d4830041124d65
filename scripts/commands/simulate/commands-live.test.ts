import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { cartcaddie } from '#devices/cartcaddie.ts'
import { teebox } from '#devices/teebox.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { askCommand, commandBecomes } from '#testing/course/commanded-device.ts'
import { ADMIN_KEY, metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { DeviceClient, Traffic } from './device-client.ts'
import { planFleet } from './fleet-plan.ts'
import type { LiveDevice } from './live-device.ts'
import { LiveFleet } from './live-fleet.ts'
import { type MqttCredentials, registerDevices } from './register.ts'

// Simulated devices against a real gateway, over a real network.

const TEEBOX = 'sim-tb-001'
const CARTCADDIE = 'sim-cc-003'

// always the same day, so that the carts always do the same
const clock = {
  nowMs: () => Math.round(Date.UTC(2026, 4, 7, 15) + performance.now()),
  monotonicMs: () => performance.now(),
}
let g: TestGateway
let fleet: LiveFleet
let credentials: Map<string, MqttCredentials>

before(async () => {
  g = await startGateway({}, { clock })
  const plan = planFleet({ seed: 1, carts: 3, center: { lat: 28.41, long: -81.58 }, prefix: 'sim' })
  const devices = plan.fleet.flatMap((cart) => cart.devices)
  const signal = new AbortController().signal
  credentials = await registerDevices(devices, {
    gatewayUrl: g.http,
    adminKey: ADMIN_KEY,
    prefix: 'sim',
    signal,
  })
  // where zones are fetched from is the group's
  await g.request('POST', '/groups', { body: { name: 'Front nine', group_id: 7 } })
  for (const { hardwareId } of devices) await g.request('PUT', `/groups/7/devices/${hardwareId}`)
  const zones = { type: 'FeatureCollection', features: [] }
  assert.equal((await g.request('PUT', '/groups/7/geofences', { body: zones })).status, 200)
  fleet = new LiveFleet({
    // no device loses its signal unless a test requests it
    plan: { ...plan, shadows: [] },
    gatewayUrl: g.http,
    speedUp: 1,
    days: 1,
    clock,
    createLink: (live) => {
      const { hardwareId, deviceType } = live.device
      const own = credentials.get(hardwareId)
      assert.ok(own !== undefined)
      return new DeviceClient({
        brokerUrl: g.mqtt,
        hardwareId,
        deviceType,
        credentials: own,
        qos: 1,
        traffic: new Traffic(),
        boot: () => live.boot,
        onMessage: (topic, payload) => live.receive(topic, payload),
      })
    },
  })
  await fleet.start()
})
after(async () => {
  await fleet.stop()
  await g.stop()
})
function deviceOf(hardwareId: string): LiveDevice {
  const live = fleet.devices.find(({ device }) => device.hardwareId === hardwareId)
  assert.ok(live !== undefined)
  return live
}

async function command(hardwareId: string, name: string, fields = {}): Promise<string> {
  // the fleet drives: this tests the reaction of a device to a lock that reaches it
  return (await askCommand(g, hardwareId, name, { force: true, ...fields })).command_id
}

const becomes = (commandId: string, status: string) => commandBecomes(g, commandId, status)

for (const [hardwareId, type] of [
  [TEEBOX, teebox],
  [CARTCADDIE, cartcaddie],
] as const) {
  for (const name of Object.keys(type.commands)) {
    test(`a simulated ${type.name} obeys ${name}`, async () => {
      await eventually(() => deviceOf(hardwareId).isConnected, 'connected')
      const params = name === 'message' ? { text: 'Rain in ten minutes' } : {}
      const commandId = await command(hardwareId, name, { params })
      const { published_at, acknowledged_at, completed_at } = await becomes(commandId, 'completed')
      assert.ok(published_at <= acknowledged_at && acknowledged_at <= completed_at)
    })
  }
}

test('a simulated device turns its lock and reports the command id', async () => {
  for (const name of ['lock', 'unlock']) {
    await command(TEEBOX, name, { metadata: { by: name } })
    await eventually(async () => {
      const { body } = await g.request('GET', `/lock-events?hardware_id=${TEEBOX}&source=remote&limit=1`)
      const [event] = body.events
      return event?.event === name && event.metadata?.by === name
    }, `${name} is reported`)
  }
})

test('a simulated device reports its position on request', async () => {
  const latest = async () => (await g.request('GET', `/devices/${TEEBOX}/gps/latest`)).body.timestamp
  const before = await latest()
  await eventually(async () => {
    // it checks its position once a second
    await becomes(await command(TEEBOX, 'locate'), 'completed')
    return (await latest()) > before
  }, 'a newer position')
})

test('a simulated device reboots once, despite losing its connection, and comes back', async () => {
  const { boot } = deviceOf(TEEBOX)
  await becomes(await command(TEEBOX, 'reboot'), 'completed')
  await eventually(() => deviceOf(TEEBOX).isConnected, 'up again')
  await becomes(await command(TEEBOX, 'locate'), 'completed')
  assert.equal(deviceOf(TEEBOX).boot, boot + 1)
})

test('a repeated command is answered again after a reconnect, not obeyed again', async () => {
  const { boot } = deviceOf(TEEBOX)
  const commandId = await command(TEEBOX, 'reboot')
  await becomes(commandId, 'completed')
  await eventually(() => deviceOf(TEEBOX).isConnected, 'up again')
  const repeated = await metric(g, 'cartbarn_dropped_total', 'duplicate')
  // as a gateway does that died before it noted the answer
  const again = JSON.stringify({ id: commandId, cmd: 'reboot', params: {}, ts: clock.nowMs(), ttl: 60 })
  deviceOf(TEEBOX).receive(`dev/${TEEBOX}/cmd`, again)
  const isAnswered = async () => (await metric(g, 'cartbarn_dropped_total', 'duplicate')) > repeated
  await eventually(isAnswered, 'answered again')
  assert.equal(deviceOf(TEEBOX).boot, boot + 1)
})

test('commands that waited for an offline device are obeyed when it comes back', async () => {
  const live = deviceOf(CARTCADDIE)
  await live.stop()
  const commandId = await command(CARTCADDIE, 'message', { params: { text: 'Welcome back' } })
  await eventually(() => live.isConnected, 'awake again')
  await becomes(commandId, 'completed')
})
