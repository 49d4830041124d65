import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { ADMIN_KEY, startGateway } from '#testing/start-gateway.ts'
import { DeviceClient, Traffic } from './device-client.ts'
import { planFleet } from './fleet-plan.ts'
import { registerDevices } from './register.ts'

const KEY = 'the-key-of-this-course-0123456789'
const devices = planFleet({ seed: 1, carts: 2, center: { lat: 0, long: 0 }, prefix: 't' }).fleet.flatMap(
  (cart) => cart.devices,
)

test('simulated devices enrol, and reconnect with their password, also after a gateway restart', async (t) => {
  const gateway = await startGateway({ CARTBARN_ENROLMENT_KEY: KEY })
  t.after(() => gateway.stop())
  const { signal } = new AbortController()
  const register = () =>
    registerDevices(devices, {
      gatewayUrl: gateway.http,
      adminKey: ADMIN_KEY,
      enrolmentKey: KEY,
      prefix: 't',
      signal,
    })
  const credentials = await register()
  assert.deepEqual(new Set([...credentials.values()].map(({ password }) => password)), new Set([KEY]))
  const clientOf = (hardwareId: string, deviceType: string) => {
    const mqtt = credentials.get(hardwareId)
    assert.ok(mqtt !== undefined)
    const link = {
      brokerUrl: gateway.mqtt,
      traffic: new Traffic(),
      boot: () => 1,
      onMessage: () => undefined,
    }
    const client = new DeviceClient({ ...link, hardwareId, deviceType, credentials: mqtt, qos: 1 })
    t.after(() => client.sleep())
    client.connect()
    return client
  }
  const isDone = async () => {
    const { body } = await gateway.request('GET', '/devices?enrolled_with_shared_key=false')
    return body.devices.length === devices.length
  }
  const first = devices.map(({ hardwareId, deviceType }) => clientOf(hardwareId, deviceType))
  await eventually(isDone, 'all have their own password')
  const { body } = await gateway.request('GET', '/devices?cart=1')
  assert.equal(body.devices.length, 2)
  for (const client of first) await client.sleep()
  // the same client returns, and after a restart another one with the received password
  for (const client of first) client.connect()
  await eventually(() => first.every(({ isConnected }) => isConnected), 'back')
  for (const client of first) await client.sleep()
  await gateway.restart()
  const second = devices.map(({ hardwareId, deviceType }) => clientOf(hardwareId, deviceType))
  await eventually(() => second.every(({ isConnected }) => isConnected), 'back after the restart')
  // another run of the simulator knows no password: the admin gives them new ones
  const again = await register()
  assert.ok([...again.values()].every(({ password, isEnrolmentKey }) => password !== KEY && !isEnrolmentKey))
})
