import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { toIso } from '#shared/time.ts'
import { askCommand, CommandedDevice, commandBecomes, readCommand } from '#testing/course/commanded-device.ts'
import { metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'

type Json = Record<string, unknown>

const TTL_MS = 60_000
const clock = new FakeClock()
let g: TestGateway
let hardwareId: string
let password: string
let devices = 0

before(async () => {
  g = await startGateway({}, { clock })
})
after(() => g.stop())
beforeEach(async () => {
  hardwareId = `cart-${++devices}`
  password = await g.register(hardwareId, 'cartcaddie')
})

const command = (name: string, fields: Record<string, unknown> = {}, id = hardwareId) => askCommand(g, id, name, fields)
const read = (commandId: string) => readCommand(g, commandId)
const becomes = (commandId: string, status: string) => commandBecomes(g, commandId, status)

function connect() {
  return CommandedDevice.connect(g, hardwareId, password)
}

test('a command for a connected device is sent immediately and takes the states the device reports', async () => {
  const device = await connect()
  const startedAtMs = clock.nowMs()
  const created = await command('unlock', { metadata: { name: 'Jane' } })
  const { body: known } = await g.request('GET', `/devices/${hardwareId}`)
  assert.deepEqual(created, {
    command_id: created.command_id,
    hardware_id: hardwareId,
    device_id: known.short_id,
    device_type: 'cartcaddie',
    command: 'unlock',
    params: {},
    metadata: { name: 'Jane' },
    status: 'pending',
    requested_by: await g.adminId(),
    created_at: toIso(startedAtMs),
    expires_at: toIso(startedAtMs + TTL_MS),
    published_at: null,
    acknowledged_at: null,
    completed_at: null,
    error: null,
    retry_of: null,
    forced: false,
    late_ack: null,
  })
  const id = created.command_id
  assert.deepEqual(await device.next(), { id, cmd: 'unlock', params: {}, ts: startedAtMs, ttl: 60 })
  assert.equal((await becomes(id, 'published')).published_at, toIso(startedAtMs))
  clock.advance(1000)
  await device.ack(id, 'acknowledged')
  assert.equal((await becomes(id, 'acknowledged')).acknowledged_at, toIso(startedAtMs + 1000))
  clock.advance(1000)
  await device.ack(id, 'completed')
  const { completed_at, error } = await becomes(id, 'completed')
  assert.deepEqual([completed_at, error], [toIso(startedAtMs + 2000), null])
  assert.deepEqual(await device.flush(), [])
  await device.leave()
})

test('a device that rejects a command reports a reason; a long reason is truncated, not lost', async () => {
  const device = await connect()
  const { command_id: first } = await command('lock')
  await device.ack(first, 'failed', 'lock jammed')
  assert.equal((await becomes(first, 'failed')).error, 'lock jammed')
  const { command_id: second } = await command('lock')
  await device.ack(second, 'failed', 'x'.repeat(1000))
  assert.equal((await becomes(second, 'failed')).error, 'x'.repeat(256))
  await device.leave()
})

test('an acknowledged command times out if the device never reports its end', async () => {
  const device = await connect()
  const { command_id } = await command('reboot')
  await device.ack(command_id, 'acknowledged')
  clock.advance(TTL_MS)
  const { acknowledged_at, completed_at } = await becomes(command_id, 'timeout')
  assert.ok(acknowledged_at !== null && completed_at === null)
  await device.leave()
})

test('a repeated acknowledgement changes nothing and is counted', async () => {
  const device = await connect()
  const { command_id } = await command('lock')
  const before = await metric(g, 'cartbarn_dropped_total', 'duplicate')
  await device.ack(command_id, 'acknowledged')
  await device.ack(command_id, 'completed')
  const done = await becomes(command_id, 'completed')
  clock.advance(1000)
  for (const st of ['acknowledged', 'completed']) await device.ack(command_id, st)
  assert.deepEqual(await read(command_id), done)
  assert.equal((await metric(g, 'cartbarn_dropped_total', 'duplicate')) - before, 2)
  await device.leave()
})

test('a late acknowledgement is recorded and changes nothing else', async () => {
  const { command_id } = await command('lock')
  const device = await connect()
  await device.next()
  clock.advance(TTL_MS)
  const over = await becomes(command_id, 'timeout')
  await device.ack(command_id, 'failed', 'too cold')
  const late_ack = { status: 'failed', error: 'too cold', timestamp: toIso(clock.nowMs()) }
  assert.deepEqual(await read(command_id), { ...over, late_ack })
  await device.leave()
})

test("an acknowledgement of another device's command, or an unknown one, is counted and has no effect", async () => {
  const { command_id } = await command('lock')
  const strangerId = `${hardwareId}-stranger`
  const stranger = await CommandedDevice.connect(g, strangerId, await g.register(strangerId))
  await stranger.ack(command_id, 'completed')
  await stranger.ack('no-such-command', 'completed')
  assert.equal((await read(command_id)).status, 'pending')
  assert.equal(await metric(g, 'cartbarn_dropped_total', 'foreign_command'), 1)
  assert.equal(await metric(g, 'cartbarn_dropped_total', 'unknown_command'), 1)
  await stranger.leave()
})

for (const payload of ['{"id":"x"}', '{"st":"completed"}', '{"id":"x","st":"done"}', '{"id":7,"st":"failed"}']) {
  test(`an acknowledgement with the payload ${payload} is acknowledged and quarantined`, async () => {
    const device = await connect()
    await device.client.publishAsync(`dev/${hardwareId}/ack`, payload, { qos: 1 })
    const { body } = await g.request('GET', '/mqtt/quarantine')
    const [entry] = body
    assert.deepEqual([entry.hardware_id, entry.reason], [hardwareId, 'invalid_ack'])
    await device.leave()
  })
}

test('a newer lock or unlock fails the unsent locks and unlocks before it, and no other commands', async () => {
  const unsent = [await command('unlock'), await command('lock'), await command('locate')]
  const newest = await command('unlock')
  assert.deepEqual(await Promise.all(unsent.map(async ({ command_id }) => (await read(command_id)).status)), [
    'failed',
    'failed',
    'pending',
  ])
  assert.equal((await read(unsent[0].command_id)).error, 'superseded')
  const device = await connect()
  const ids = (await device.flush()).map(({ id }) => id)
  assert.deepEqual(ids, [unsent[2].command_id, newest.command_id])
  await becomes(newest.command_id, 'published')
  const after = await command('lock')
  assert.equal((await read(newest.command_id)).status, 'published', 'it was sent: the device decides')
  assert.equal((await device.next()).id, after.command_id)
  await device.leave()
})

test('concurrent lock and unlock requests are queued in order, and only the last unsent one is sent', async () => {
  const wishes = await Promise.all(Array.from({ length: 100 }, (_, i) => command(i % 2 === 0 ? 'lock' : 'unlock')))
  const { body } = await g.request('GET', `/devices/${hardwareId}/commands?limit=1000`)
  assert.equal(body.commands.length, 100)
  assert.deepEqual(new Set(wishes.map(({ command_id }) => command_id)).size, 100)
  const pending = body.commands.filter(({ status }: Json) => status === 'pending')
  assert.deepEqual(pending, [body.commands[0]])
  const device = await connect()
  const ids = (await device.flush()).map(({ id }) => id)
  assert.deepEqual(ids, [body.commands[0].command_id])
  await device.leave()
})

test('the metadata of a command is copied to the lock event that names it', async () => {
  const device = await connect()
  const socket = await g.realtime()
  await socket.subscribe(hardwareId)
  const { command_id } = await command('unlock', { metadata: { name: 'Jane', bag: [7] } })
  await device.report({ eid: '1', event: 'unlock', source: 'remote', cmd: command_id })
  assert.deepEqual((await socket.next('device_unlocked')).metadata, { name: 'Jane', bag: [7] })
  const { body } = await g.request('GET', `/lock-events?hardware_id=${hardwareId}`)
  assert.deepEqual(body.events[0].metadata, { name: 'Jane', bag: [7] })
  const { command_id: bare } = await command('lock')
  await device.report({ eid: '2', event: 'lock', source: 'remote', cmd: bare })
  assert.equal('metadata' in (await socket.next('device_locked')), false)
  await device.leave()
  socket.terminate()
})

test("a lock event by key, or naming another device's command, gets no metadata", async () => {
  const strangerId = `${hardwareId}-stranger`
  const stranger = await CommandedDevice.connect(g, strangerId, await g.register(strangerId))
  const { command_id } = await command('unlock', { metadata: { name: 'Jane' } })
  await stranger.report({ eid: '1', event: 'unlock', source: 'remote', cmd: command_id })
  await stranger.report({ eid: '2', event: 'unlock', source: 'key', cmd: command_id })
  const { body } = await g.request('GET', `/lock-events?hardware_id=${strangerId}`)
  const shown = body.events.map((event: Json) => 'metadata' in event)
  assert.deepEqual(shown, [false, false])
  await stranger.leave()
})

test('the commands of a removed device end as device_removed', async () => {
  const waiting = await command('locate')
  assert.equal((await g.request('DELETE', `/devices/${hardwareId}`)).status, 200)
  const { status: ended, error } = await read(waiting.command_id)
  assert.deepEqual([ended, error], ['failed', 'device_removed'])
  const unfinished = await metric(g, 'cartbarn_commands_unfinished')
  password = await g.register(hardwareId)
  const device = await connect()
  assert.deepEqual(await device.flush(), [])
  assert.equal(await metric(g, 'cartbarn_commands_unfinished'), unfinished)
  await device.leave()
})

test('a device can have at most a thousand pending commands', async () => {
  for (let i = 0; i < 1000; i += 100) {
    await Promise.all(Array.from({ length: 100 }, () => command('locate')))
  }
  const { status, body } = await g.request('POST', `/devices/${hardwareId}/commands`, { body: { command: 'locate' } })
  assert.deepEqual([status, body.code], [409, 'too_many_commands'])
  clock.advance(120_000)
  await eventually(async () => (await metric(g, 'cartbarn_commands_unfinished')) === 0, 'all are over')
  await command('locate')
})
