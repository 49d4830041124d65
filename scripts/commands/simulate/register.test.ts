import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { CommandError } from '#scripts/cli/command.ts'
import type { KnownDevice } from './cart-numbers.ts'
import { planFleet } from './fleet-plan.ts'
import { registerDevices } from './register.ts'

const devices = planFleet({ seed: 1, carts: 12, center: { lat: 0, long: 0 }, prefix: 't' }).fleet.flatMap(
  (cart) => cart.devices,
)
const KEY = 'flt_key'

interface Reply {
  readonly status: number
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

/**
 * Starts a gateway that knows these devices, gives the configured response to all other requests and records the
 * requests.
 */
async function startGateway(
  t: TestContext,
  reply: (path: string, attempt: number) => Reply,
  known: readonly KnownDevice[] = [],
) {
  const requests: { method: string; path: string; key: unknown; body: string }[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { url: path = '', method = '', headers } = request
    let answer: Reply = { status: 200, body: { devices: known } }
    if (method !== 'GET') {
      requests.push({ method, path, key: headers['x-api-key'], body })
      answer = reply(path, requests.length)
    }
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
    response.end(JSON.stringify(answer.body ?? {}))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  const options = {
    gatewayUrl: `http://127.0.0.1:${address.port}`,
    adminKey: KEY,
    prefix: 't',
    signal: new AbortController().signal,
  }
  return { requests, options }
}

const refusal = (status: number, code: string, detail = 'no') => ({ status, body: { code, detail } })
const mqtt = (name: string) => ({ username: name, password: `p-${name}`, client_id: name })

test('new devices are registered with type, name and cart', async (t) => {
  const { requests, options } = await startGateway(t, () => ({
    status: 201,
    body: { device: {}, mqtt: mqtt('a') },
  }))
  const credentials = await registerDevices(devices, options)
  assert.equal(credentials.size, devices.length)
  assert.equal(requests.length, devices.length)
  assert.ok(requests.every((request) => request.key === KEY))
  assert.ok(
    requests.some(
      ({ body }) => body === '{"hardware_id":"t-tb-001","device_type":"teebox","name":"Cart 1","cart":"1"}',
    ),
  )
})

test('devices already there get a new password', async (t) => {
  const { options } = await startGateway(t, (path) => {
    const [, name = ''] = /^\/devices\/(.+)\/rotate-mqtt-password$/.exec(path) ?? []
    if (name === '') return refusal(409, 'device_exists')
    return { status: 200, body: { success: true, mqtt: mqtt(name) } }
  })
  const credentials = await registerDevices(devices, options)
  assert.deepEqual(credentials.get('t-cc-001'), mqtt('t-cc-001'))
})

test('of devices already there only those without a cart are put into one, and real ones are left alone', async (t) => {
  const known = [
    { hardware_id: 'barn-lock', name: null, cart: '2' },
    { hardware_id: 't-tb-001', name: null, cart: 'Ranger' },
    { hardware_id: 't-cc-001', name: null, cart: null },
    { hardware_id: 't-tb-002', name: null, cart: null },
  ]
  const reply = (path: string) =>
    path === '/devices' ? refusal(409, 'device_exists') : { status: 200, body: { success: true, mqtt: mqtt('a') } }
  const { requests, options } = await startGateway(t, reply, known)
  await registerDevices(devices, options)
  const changes = requests.filter(({ method }) => method === 'PATCH')
  assert.deepEqual(changes.map(({ path, body }) => [path, body]).sort(), [
    ['/devices/t-cc-001', '{"cart":"1"}'],
    ['/devices/t-tb-002', '{"cart":"t 2"}'],
  ])
  assert.ok(requests.every(({ path }) => !path.includes('barn-lock')))
})

test('a gateway that asks to slow down is asked again', async (t) => {
  const { options } = await startGateway(t, (_, attempt) =>
    attempt === 1
      ? { status: 429, headers: { 'retry-after': '0.01' } }
      : { status: 201, body: { device: {}, mqtt: mqtt('a') } },
  )
  assert.equal((await registerDevices(devices, options)).size, devices.length)
})

test('a refused key, a refused device and a gateway that is not there are explained', async (t) => {
  const unauthorised = await startGateway(t, () => refusal(401, 'invalid_api_key'))
  await assert.rejects(registerDevices(devices, unauthorised.options), /refuses the key \(invalid_api_key\)/)
  const refusing = await startGateway(t, () => refusal(400, 'unknown_device_type', 'bad type'))
  await assert.rejects(registerDevices(devices, refusing.options), /400 bad type/)
  const unreachable = { ...unauthorised.options, gatewayUrl: 'http://127.0.0.1:1' }
  await assert.rejects(registerDevices(devices, unreachable), CommandError)
})
