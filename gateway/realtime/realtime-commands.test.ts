import assert from 'node:assert/strict'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { toIso } from '#shared/time.ts'
import { CommandedDevice } from '#testing/course/commanded-device.ts'
import type { RealtimeClient } from '#testing/realtime-client.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

const clock = new FakeClock()
let g: TestGateway
let hardwareId: string
let device: CommandedDevice
let user: { userId: string; key: string }
let devices = 0

before(async () => {
  g = await startGateway({}, { clock })
})
after(() => g.stop())
beforeEach(async () => {
  hardwareId = `cart-${++devices}`
  device = await CommandedDevice.connect(g, hardwareId, await g.register(hardwareId))
  user = await g.createUser({ allowed_hardware_ids: [hardwareId] })
})

/** Sends a command and waits until it was stored. */
async function send(socket: RealtimeClient, fields: Record<string, unknown> = {}): Promise<string> {
  socket.send({ type: 'command', hardwareId, command: 'unlock', ...fields })
  return (await socket.next('command_sent')).commandId
}

function statusOf(commandId: string, status: string, more: object = {}) {
  const message = { type: 'command_status', commandId, hardwareId, command: 'unlock', status }
  return { ...message, requestedBy: user.userId, ...more, timestamp: toIso(clock.nowMs()) }
}

async function post(key: string, command = 'unlock'): Promise<string> {
  const { body } = await g.request('POST', `/devices/${hardwareId}/commands`, { key, body: { command } })
  return body.command_id
}

test('a command by socket is recorded and sent as by HTTP, and its sender receives all updates', async () => {
  const socket = await g.realtime(user.key)
  const metadata = { name: 'Jane' }
  socket.send({ type: 'command', hardwareId, command: 'unlock', params: {}, metadata, ttlSeconds: 30, id: 2 })
  await socket.next('connected')
  const sent = await socket.next()
  const { commandId } = sent
  assert.deepEqual(sent, { type: 'command_sent', commandId, hardwareId, command: 'unlock', status: 'pending', id: 2 })
  assert.deepEqual(await device.next(), { id: commandId, cmd: 'unlock', params: {}, ts: clock.nowMs(), ttl: 30 })
  assert.deepEqual(await socket.next(), statusOf(commandId, 'published'))
  await device.ack(commandId, 'acknowledged')
  assert.deepEqual(await socket.next(), statusOf(commandId, 'acknowledged'))
  await device.ack(commandId, 'failed', 'lock jammed')
  assert.deepEqual(await socket.next(), statusOf(commandId, 'failed', { error: 'lock jammed' }))
  const { body } = await g.request('GET', `/commands/${commandId}`)
  assert.deepEqual([body.requested_by, body.metadata, body.status], [user.userId, metadata, 'failed'])
  assert.deepEqual(await socket.flush(), [])
})

test('its sender also receives that a command expired or was superseded', async () => {
  const socket = await g.realtime(user.key)
  await device.lose(g)
  const first = await send(socket)
  const second = await send(socket)
  clock.advance(60_000)
  const messages = [await socket.next('command_status')]
  assert.deepEqual([messages[0].commandId, messages[0].status], [second, 'timeout'])
  assert.equal((await g.request('GET', `/commands/${first}`)).body.error, 'superseded')
})

test('a newer command notifies the sender of the older one that it is superseded', async () => {
  const socket = await g.realtime(user.key)
  await device.lose(g)
  const first = await send(socket)
  socket.send({ type: 'command', hardwareId, command: 'lock' })
  const message = await socket.next('command_status')
  assert.deepEqual([message.commandId, message.status, message.error], [first, 'failed', 'superseded'])
})

test('only the sending socket of a user receives command updates; another one once that is closed', async () => {
  const [sender, other] = [await g.realtime(user.key), await g.realtime(user.key)]
  const commandId = await send(sender, { command: 'locate' })
  await sender.next('command_status')
  assert.deepEqual((await other.flush()).slice(1), [])
  const openBefore = await openSockets()
  sender.terminate()
  await eventually(async () => (await openSockets()) === openBefore - 1, 'the sender is gone')
  await device.ack(commandId, 'completed')
  const { requestedBy: _, ...shown } = statusOf(commandId, 'completed', { command: 'locate' })
  assert.deepEqual(await other.next(), shown)
})

async function openSockets(): Promise<number> {
  return (await g.request('GET', '/stats')).body.subscriptions.totalConnections
}

test('a command by HTTP notifies the open sockets of the same user, and no other user', async () => {
  const colleague = await g.createUser({ allowed_hardware_ids: [hardwareId] })
  const own = [await g.realtime(user.key), await g.realtime(user.key)]
  const others = [await g.realtime(colleague.key), await g.realtime()]
  for (const socket of [...own, ...others]) await socket.subscribe(hardwareId)
  const commandId = await post(user.key, 'locate')
  await device.ack(commandId, 'completed')
  for (const socket of own) {
    const states = [await socket.next('command_status'), await socket.next('command_status')]
    const statuses = states.map(({ status }) => status)
    assert.deepEqual(statuses, ['published', 'completed'])
  }
  for (const socket of others) {
    const messages = await socket.flush()
    const unexpected = messages.filter(({ type }) => type === 'command_status')
    assert.deepEqual(unexpected, [])
  }
})

test('a lock or unlock, with its requester, is sent to all who see the device, subscribed or not', async () => {
  const colleague = await g.createUser({ allowed_hardware_ids: [hardwareId] })
  const stranger = await g.createUser({ allowed_hardware_ids: ['another'] })
  const sockets = await Promise.all([user.key, colleague.key, undefined].map((key) => g.realtime(key)))
  const outside = await g.realtime(stranger.key)
  for (const ask of [() => send(sockets[0] ?? outside), () => post(user.key, 'lock')]) {
    const commandId = await ask()
    await device.ack(commandId, 'completed')
    for (const socket of sockets) {
      for (const status of ['published', 'completed']) {
        const message = await socket.next('command_status')
        assert.deepEqual([message.commandId, message.status, message.requestedBy], [commandId, status, user.userId])
      }
    }
  }
  assert.deepEqual((await outside.flush()).slice(1), [])
})

test('a user whose scope was narrowed receives no further updates', async () => {
  const socket = await g.realtime(user.key)
  const commandId = await send(socket)
  await socket.next('command_status')
  await g.request('PATCH', `/users/${user.userId}`, { body: { allowed_hardware_ids: [] } })
  await device.ack(commandId, 'completed')
  assert.deepEqual(await socket.flush(), [])
})

test('a user whose key was rotated receives updates on sockets of the new key only', async () => {
  const socket = await g.realtime(user.key)
  const commandId = await send(socket)
  await socket.next('command_status')
  const closed = socket.closed()
  const { body } = await g.request('POST', `/users/${user.userId}/rotate-key`)
  assert.equal(await closed, 4401)
  const fresh = await g.realtime(body.api_key)
  await device.ack(commandId, 'completed')
  assert.equal((await fresh.next('command_status')).status, 'completed')
})

for (const [what, fields, code] of [
  ['a device that is not there', { hardwareId: 'nowhere' }, 'device_not_found'],
  ['a device outside the scope', { hardwareId: 'cart-1' }, 'device_forbidden'],
  ['no device', { hardwareId: undefined }, 'invalid_message'],
  ['no command', { command: undefined }, 'missing_field'],
  ['an unknown command', { command: 'dance' }, 'unknown_command'],
  ['a command of other devices', { command: 'message', params: { text: 'x' } }, 'unsupported_command'],
  ['an unknown parameter', { params: { hard: true } }, 'unknown_field'],
  ['params that are no object', { params: 'x' }, 'invalid_field'],
  ['a misspelt field', { metdata: {} }, 'unknown_field'],
  ['too much metadata', { metadata: { text: 'x'.repeat(5000) } }, 'too_large'],
  ['a time out of range', { ttl_seconds: 0 }, 'invalid_field'],
  ['a time out of range', { ttlSeconds: 86_401 }, 'invalid_field'],
] as const) {
  test(`${what}: error ${code}, and no command is sent`, async () => {
    const socket = await g.realtime(user.key)
    socket.send({ type: 'command', hardwareId, command: 'unlock', id: 'x', ...fields })
    const { code: sent, id, message } = await socket.next('error')
    assert.deepEqual([sent, id], [code, 'x'])
    assert.ok(message.length > 0)
    assert.deepEqual(await device.flush(), [])
  })
}

test('a command that the store cannot accept yields an error, and is not sent', async () => {
  const own = await startGateway()
  const database = join(own.config.dataDir, 'cartbarn.db')
  try {
    const listener = await CommandedDevice.connect(own, 'cart-1', await own.register('cart-1'))
    const socket = await own.realtime()
    renameSync(database, `${database}.away`)
    socket.send({ type: 'command', hardwareId: 'cart-1', command: 'unlock', id: 1 })
    const { code, id } = await socket.next('error')
    assert.deepEqual([code, id], ['store_unavailable', 1])
    renameSync(`${database}.away`, database)
    assert.deepEqual(await listener.flush(), [])
    await listener.leave()
  } finally {
    await own.stop()
  }
})
