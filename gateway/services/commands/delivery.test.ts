import assert from 'node:assert/strict'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { askCommand, CommandedDevice, commandBecomes, readCommand } from '#testing/course/commanded-device.ts'
import { PACKET, readPublish } from '#testing/mqtt-packets.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'

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

function connect(options: Parameters<typeof CommandedDevice.connect>[3] = {}) {
  return CommandedDevice.connect(g, hardwareId, password, options)
}

for (const isClean of [true, false]) {
  const session = isClean ? 'a clean session' : 'a kept session'
  test(`${session}: a command for an offline device stays pending and is sent on its return`, async () => {
    const before = await connect({ isClean })
    await before.lose(g)
    const older = await command('locate', { params: { beep: true } })
    const newer = await command('message', { params: { text: 'Hole 7' } })
    clock.advance(40_500)
    assert.equal((await read(older.command_id)).status, 'pending')
    const device = await connect({ isClean, subscribes: isClean })
    const received = [await device.next(), await device.next()]
    assert.deepEqual(received, [
      { id: older.command_id, cmd: 'locate', params: { beep: true }, ts: clock.nowMs(), ttl: 80 },
      { id: newer.command_id, cmd: 'message', params: { text: 'Hole 7' }, ts: clock.nowMs(), ttl: 560 },
    ])
    assert.deepEqual(await device.flush(), [])
    for (const { id } of received) await device.ack(id, 'completed')
    await becomes(newer.command_id, 'completed')
    await device.leave()
  })

  test(`${session}: an expired command times out and is never sent`, async () => {
    const before = await connect({ isClean })
    await before.lose(g)
    const { command_id } = await command('unlock')
    clock.advance(TTL_MS)
    const device = await connect({ isClean, subscribes: isClean })
    assert.deepEqual(await device.flush(), [])
    const { error, published_at } = await becomes(command_id, 'timeout')
    assert.deepEqual([error, published_at], [null, null])
    await device.leave()
  })
}

test('setting the wall clock changes the lifetime of a command in neither direction', async () => {
  const { command_id } = await command('unlock')
  clock.set(clock.nowMs() + 3_600_000)
  clock.advance(TTL_MS - 1)
  const device = await connect()
  assert.equal((await device.next()).id, command_id)
  clock.set(clock.nowMs() - 7_200_000)
  clock.advance(1)
  await becomes(command_id, 'timeout')
  await device.leave()
})

test('an unanswered command is sent once on each connection, under the same id', async () => {
  const { command_id } = await command('unlock')
  for (let i = 0; i < 5; i++) {
    const device = await connect()
    const ids = (await device.flush()).map(({ id }) => id)
    assert.deepEqual(ids, [command_id])
    // a repeated subscription does not count as a new connection
    await device.client.subscribeAsync(`dev/${hardwareId}/cmd`, { qos: 1 })
    assert.deepEqual(await device.flush(), [])
    await device.lose(g)
  }
  const device = await connect()
  await device.next()
  await device.ack(command_id, 'acknowledged')
  await device.lose(g)
  const again = await connect()
  assert.deepEqual(await again.flush(), [], 'the device has it')
  await again.leave()
})

test('a connected device without a subscription receives the command when it subscribes', async () => {
  const device = await connect({ subscribes: false })
  const { command_id } = await command('reboot')
  assert.deepEqual(await device.flush(), [])
  assert.equal((await read(command_id)).status, 'pending')
  await device.client.subscribeAsync(`dev/${hardwareId}/cmd`, { qos: 1 })
  assert.equal((await device.next()).id, command_id)
  await device.leave()
})

test('a fleet that keeps reconnecting receives each command once per connection', async () => {
  const fleet = await Promise.all(
    Array.from({ length: 40 }, async (_, i) => {
      const id = `storm-${i}`
      const secret = await g.register(id)
      const asked = [await command('locate', {}, id), await command('lock', {}, id)]
      return { id, secret, expected: asked.map(({ command_id }) => command_id) }
    }),
  )
  for (let round = 0; round < 3; round++) {
    const received = await Promise.all(
      fleet.map(async ({ id, secret }) => {
        const device = await CommandedDevice.connect(g, id, secret)
        const ids = (await device.flush()).map((message) => message.id)
        await device.lose(g)
        return ids
      }),
    )
    const wanted = fleet.map(({ expected }) => expected)
    assert.deepEqual(received, wanted)
  }
})

test('a device that connects intermittently receives no superseded command', async () => {
  const received = new Set<string>()
  const asking = (async () => {
    for (let i = 0; i < 60; i++) await command(i % 2 === 0 ? 'lock' : 'unlock')
  })()
  for (let i = 0; i < 6; i++) {
    const device = await connect()
    for (const { id } of await device.flush()) received.add(id)
    await device.lose(g)
  }
  await asking
  const { body } = await g.request('GET', `/devices/${hardwareId}/commands?limit=1000`)
  const superseded = body.commands.filter(({ error }: Json) => error === 'superseded')
  const unexpected = superseded.filter(({ command_id }: { command_id: string }) => received.has(command_id))
  assert.deepEqual(unexpected, [])
})

test('subscribed programs receive a command when it is sent, also those with a persistent session', async () => {
  const away = await g.program({ clientId: `away-${hardwareId}`, clean: false })
  await away.subscribeAsync('dev/+/cmd', { qos: 1 })
  await away.endAsync()
  const program = await g.program()
  await program.subscribeAsync('dev/+/cmd', { qos: 1 })
  const topics: string[] = []
  program.on('message', (topic, payload) => topics.push(`${topic} ${JSON.parse(payload.toString()).id}`))
  const { command_id } = await command('unlock')
  const device = await connect()
  await device.next()
  await becomes(command_id, 'published')
  const line = `dev/${hardwareId}/cmd ${command_id}`
  await eventually(() => topics.length > 0, 'the program got a message')
  assert.deepEqual(topics, [line])
  assert.deepEqual(await device.flush(), [], 'and the device once only')
  const back = await RawMqtt.open(g.mqtt)
  const adminId = await g.adminId()
  await back.login({ clientId: `away-${hardwareId}`, username: adminId, password: ADMIN_KEY, clean: false })
  const kept = readPublish(await back.next(PACKET.publish))
  assert.equal(`${kept.topic} ${JSON.parse(kept.payload).id}`, line)
  back.destroy()
  await device.leave()
})

test('while the store cannot be written a command is rejected with 503 and never sent', async () => {
  const own = await startGateway({}, { clock })
  const database = join(own.config.dataDir, 'cartbarn.db')
  try {
    const ownPassword = await own.register('cart-1')
    const device = await CommandedDevice.connect(own, 'cart-1', ownPassword)
    const headers = { 'idempotency-key': 'one' }
    const ask = () => own.request('POST', '/devices/cart-1/commands', { body: { command: 'unlock' }, headers })
    const older = await own.request('POST', '/devices/cart-1/commands', { body: { command: 'locate' } })
    await device.next()
    renameSync(database, `${database}.away`)
    for (let i = 0; i < 3; i++) {
      const answer = await ask()
      assert.deepEqual([answer.status, answer.body.code], [503, 'store_unavailable'])
      assert.ok(Number(answer.headers.get('retry-after')) > 0)
    }
    await device.lose(own)
    renameSync(`${database}.away`, database)
    await eventually(async () => (await own.request('GET', '/health')).status === 200, 'usable again')
    const again = await CommandedDevice.connect(own, 'cart-1', ownPassword)
    assert.equal((await again.next()).id, older.body.command_id)
    assert.deepEqual(await again.flush(), [])
    // the database file was back in time to contain the refused command
    const { status, headers: answered, body } = await ask()
    assert.deepEqual([status, answered.get('idempotency-replayed')], [202, null])
    const ids = (await again.flush()).map(({ id }) => id)
    assert.deepEqual(ids, [body.command_id])
    assert.equal((await own.request('GET', '/stats')).body.commands, 2)
    await again.leave()
  } finally {
    await own.stop()
  }
})
