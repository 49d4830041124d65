import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { FakeClock } from '#shared/testing/clocks.ts'
import { askCommand, CommandedDevice, commandBecomes, readCommand } from '#testing/course/commanded-device.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

const HOUR_MS = 3_600_000
const TTL_MS = 60_000

interface Side {
  g: TestGateway
  clock: FakeClock
  connect(): Promise<CommandedDevice>
  command(name: string): Promise<string>
  read(commandId: string): ReturnType<typeof readCommand>
  becomes(commandId: string, status: string): ReturnType<typeof commandBecomes>
  sql(statement: string, ...values: unknown[]): void
}

async function start(t: TestContext, isTimeSynchronized = false): Promise<Side> {
  const clock = new FakeClock()
  const g = await startGateway({}, { clock, isTimeSynchronized: () => isTimeSynchronized })
  t.after(() => g.stop())
  const password = await g.register('cart-1')
  return {
    g,
    clock,
    connect: () => CommandedDevice.connect(g, 'cart-1', password),
    command: async (name) => (await askCommand(g, 'cart-1', name)).command_id,
    read: (commandId) => readCommand(g, commandId),
    becomes: (commandId, status) => commandBecomes(g, commandId, status),
    sql: (statement, ...values) => {
      const db = new Database(join(g.config.dataDir, 'cartbarn.db'))
      db.prepare(statement).run(...values)
      db.close()
    },
  }
}

async function idsOf(device: CommandedDevice): Promise<string[]> {
  return (await device.flush()).map(({ id }) => id)
}

test('after a restart an unanswered command is sent again for the rest of its lifetime', async (t) => {
  const { g, clock, connect, command, read, becomes } = await start(t)
  const device = await connect()
  const ids = [await command('locate'), await command('locate'), await command('locate')]
  const [answered = '', done = '', lost = ''] = ids
  await device.flush()
  await device.ack(answered, 'acknowledged')
  await device.ack(done, 'completed')
  await becomes(lost, 'published')
  const published = await read(lost)
  await device.lose(g)
  const waiting = await command('locate')
  await g.restart(() => clock.advance(20_000))
  assert.deepEqual(await read(lost), published)
  const again = await connect()
  const received = await again.flush()
  const shown = received.map(({ id, ttl }) => [id, ttl])
  assert.deepEqual(shown, [
    [lost, 100],
    [waiting, 100],
  ])
  for (const id of [answered, lost, waiting]) await again.ack(id, 'completed')
  for (const id of ids) assert.equal((await read(id)).status, 'completed')
  await again.leave()
})

test('a command sent just before a crash is sent again under the same id', async (t) => {
  const { g, connect, command, read, sql } = await start(t)
  const device = await connect()
  const id = await command('unlock')
  await device.next()
  // the state on the disk if the process ends between the two
  await g.restart(() => sql("UPDATE command SET status = 'pending', published_at_ms = NULL"))
  const again = await connect()
  assert.deepEqual(await idsOf(again), [id])
  await again.ack(id, 'completed')
  assert.equal((await read(id)).status, 'completed')
  await again.leave()
})

test('an acknowledgement is accepted for a command that the gateway does not know was sent', async (t) => {
  const { g, connect, command, read, sql } = await start(t)
  const id = await command('unlock')
  await g.restart(() => sql("UPDATE command SET status = 'pending', published_at_ms = NULL"))
  const device = await connect()
  await device.ack(id, 'completed')
  const { status, published_at } = await read(id)
  assert.deepEqual([status, published_at === null], ['completed', false])
  await device.leave()
})

test('a command that expired while the gateway was down is never sent', async (t) => {
  const { g, clock, connect, command, becomes } = await start(t)
  const id = await command('unlock')
  await g.restart(() => clock.advance(TTL_MS))
  const device = await connect()
  assert.deepEqual(await idsOf(device), [])
  await becomes(id, 'timeout')
  assert.deepEqual(await idsOf(device), [])
  await device.leave()
})

test('a command dated in the future is never sent because its age is unknown', async (t) => {
  const { g, clock, connect, command, becomes } = await start(t, true)
  const id = await command('unlock')
  await g.restart(() => clock.set(clock.nowMs() - HOUR_MS))
  const device = await connect()
  assert.deepEqual(await idsOf(device), [])
  await becomes(id, 'timeout')
  await device.leave()
})

test('a command from before the start waits for the clock and is sent for the rest of its lifetime', async (t) => {
  const { g, clock, connect, command } = await start(t)
  const id = await command('unlock')
  const createdAtMs = clock.nowMs()
  await g.restart(() => clock.set(createdAtMs - HOUR_MS))
  const device = await connect()
  clock.advance(10_000)
  assert.deepEqual(await idsOf(device), [])
  const fresh = await command('locate')
  assert.deepEqual(await idsOf(device), [fresh], 'what is asked for now is not held back')
  clock.set(createdAtMs + 25_000)
  assert.deepEqual(await device.next(), { id, cmd: 'unlock', params: {}, ts: createdAtMs + 25_000, ttl: 35 })
  await device.leave()
})

test('a pending command ends if the clock, once set, is past its lifetime', async (t) => {
  const { g, clock, connect, command, becomes } = await start(t)
  const id = await command('unlock')
  const createdAtMs = clock.nowMs()
  await g.restart(() => clock.set(createdAtMs - HOUR_MS))
  const device = await connect()
  clock.set(createdAtMs + TTL_MS)
  await becomes(id, 'timeout')
  assert.deepEqual(await idsOf(device), [])
  await device.leave()
})

test('if the clock is never set a command is held back for its lifetime at most', async (t) => {
  const { g, clock, connect, command, becomes } = await start(t)
  const id = await command('unlock')
  await g.restart(() => clock.set(clock.nowMs() - HOUR_MS))
  clock.advance(TTL_MS)
  await becomes(id, 'timeout')
  const device = await connect()
  assert.deepEqual(await idsOf(device), [])
  await device.leave()
})

test('a start with ten thousand unfinished commands is quick, and each device receives its own', async (t) => {
  const { g, clock, connect, sql } = await start(t)
  const startedAtMs = { before: 0 }
  await g.restart(() => {
    sql(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 110000)
       INSERT INTO command (command_id, hardware_id, short_id, device_type, command, params, ttl_s, status,
         requested_by, created_at_ms)
       SELECT 'c' || i, 'cart-' || (i % 1000), 'x', 'teebox', 'locate', '{}', 86400,
         iif(i > 100000, 'pending', 'completed'), 'u', ? FROM n`,
      clock.nowMs(),
    )
    startedAtMs.before = performance.now()
  })
  const tookMs = performance.now() - startedAtMs.before
  t.diagnostic(`started in ${Math.round(tookMs)} ms`)
  assert.ok(tookMs < 20_000)
  const device = await connect()
  const expected = Array.from({ length: 10 }, (_, i) => `c${100_001 + 1000 * i}`)
  assert.deepEqual(await idsOf(device), expected)
  await device.leave()
})
