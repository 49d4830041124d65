import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { createLog } from '#shared/log.ts'
import { bareEnvironment } from '#shared/testing/bare-environment.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { freePort } from '#shared/testing/free-port.ts'
import { newFolder } from '#testing/backup-sets.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { metric, startGateway } from '#testing/start-gateway.ts'
import { readConfig } from './config.ts'
import { createGateway } from './gateway.ts'
import type { Gateway } from './restorable-gateway.ts'

const ENTRY = fileURLToPath(new URL('../scripts/commands/cartbarn.ts', import.meta.url))

function settingsFor(dataDir: string, settings: Record<string, string> = {}): Record<string, string> {
  return {
    CARTBARN_DATA_DIR: dataDir,
    CARTBARN_HOST: '127.0.0.1',
    CARTBARN_HTTP_PORT: '0',
    CARTBARN_MQTT_PORT: '0',
    CARTBARN_READER_THREADS: '1',
    ...settings,
  }
}

function gatewayOn(dataDir: string, settings: Record<string, string> = {}): Gateway {
  return createGateway(readConfig(settingsFor(dataDir, settings)), createLog('silent'))
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return isOpen
}

async function listen(): Promise<{ server: Server; port: number }> {
  const server = createServer((socket) => socket.destroy())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  return { server, port: address.port }
}

test('a gateway starts, responds on both ports, and stops; a second stop does nothing', async (t) => {
  await gatewayOn(newFolder(t)).stop()
  const gateway = gatewayOn(newFolder(t))
  await gateway.start()
  const { http, mqtt } = gateway.addresses()
  assert.ok(mqtt !== undefined)
  assert.equal((await fetch(`${http}/health`)).status, 200)
  const client = await RawMqtt.open(mqtt)
  assert.equal(await client.login({ clientId: 'x', username: 'x', password: 'x' }), 4)
  await gateway.stop()
  await gateway.stop()
  assert.equal(await isListening(Number(new URL(http).port)), false)
  assert.equal(await isListening(Number(new URL(mqtt).port)), false)
})

test('the data folder is created with its parents, accessible by its owner only', async (t) => {
  const folder = join(newFolder(t), 'deep', 'data')
  const gateway = gatewayOn(folder)
  await gateway.start()
  assert.equal(statSync(folder).mode & 0o777, 0o700)
  await gateway.stop()
  assert.equal(existsSync(join(folder, 'cartbarn.db-wal')), false, 'the log is folded into the database')
})

for (const taken of ['HTTP', 'MQTT']) {
  test(`a start with a taken ${taken} port fails and leaves nothing running`, async (t) => {
    const folder = newFolder(t)
    const { server, port } = await listen()
    t.after(() => server.close())
    const otherPort = await freePort()
    const other = taken === 'HTTP' ? 'MQTT' : 'HTTP'
    const ports = {
      [`CARTBARN_${taken}_PORT`]: String(port),
      [`CARTBARN_${other}_PORT`]: String(otherPort),
    }
    const gateway = gatewayOn(folder, ports)
    await assert.rejects(gateway.start(), { code: 'EADDRINUSE' })
    assert.equal(await isListening(otherPort), false)
    await gateway.stop()
    // a program with anything left running would not exit
    const program = spawn(process.execPath, [ENTRY, 'run'], {
      env: bareEnvironment({ ...settingsFor(folder, ports), CARTBARN_LOG_LEVEL: 'silent' }),
      stdio: 'ignore',
      timeout: 90_000,
    })
    assert.deepEqual(await once(program, 'exit'), [1, null])
    const next = gatewayOn(folder)
    await next.start()
    await next.stop()
  })
}

test('a restart keeps devices, users, history, latest state and counts', async (t) => {
  const gateway = await startGateway()
  t.after(() => gateway.stop())
  const password = await gateway.register('cart-1', 'cartcaddie')
  await gateway.register('cart-2')
  await gateway.request('PATCH', '/devices/cart-2', { body: { name: 'Two' } })
  const user = await gateway.createUser({ name: 'Pro shop', allowed_hardware_ids: ['cart-1'] })
  const client = await gateway.connect('cart-1', password)
  const now = Date.now()
  const samples = [5, 4, 3, 2, 1].map((n) => ({
    ts: now - n * 60_000,
    lat: 47.1234567,
    long: 19 + n,
    battery_voltage: 48.123,
    mode: `m${n}`,
  }))
  await client.publishAsync('dev/cart-1/tlm', JSON.stringify(samples), { qos: 1 })
  await client.publishAsync('dev/cart-1/tlm', '{"bad name":1}', { qos: 1 })
  await client.publishAsync('dev/cart-1/evt', '{"event":"lock","source":"key","eid":1}', { qos: 1 })
  await client.publishAsync('dev/cart-1/st', '{"online":true,"fw":"2"}', { qos: 1 })
  await client.publishAsync('dev/cart-1/tlm', 'garbage', { qos: 1 })
  await client.endAsync()
  await eventually(async () => !(await gateway.request('GET', '/devices/cart-1')).body.is_online, 'the device offline')
  const check = async () => {
    const paths = [
      '/devices',
      '/devices/cart-1/details',
      '/devices/cart-1/gps',
      '/devices/cart-1/battery',
      '/devices/cart-1/gps/latest',
      '/devices/cart-1/battery/latest',
      '/lock-events',
      '/mqtt/quarantine',
      '/stats',
    ]
    return Promise.all(paths.map(async (path) => (await gateway.request('GET', path)).body))
  }
  const usersOf = async () => {
    const { body } = await gateway.request('GET', '/users')
    return body.map(({ usage: _usage, ...rest }: { usage: object }) => rest)
  }
  const [before, usersBefore] = [await check(), await usersOf()]
  await gateway.restart()
  assert.deepEqual(await check(), before)
  assert.deepEqual(await usersOf(), usersBefore)
  assert.equal((await gateway.request('GET', '/devices/cart-1', { key: user.key })).status, 200)
  assert.equal((await gateway.request('GET', '/devices/cart-2', { key: user.key })).status, 403)
  const again = await gateway.connect('cart-1', password)
  await again.publishAsync('dev/cart-1/tlm', JSON.stringify(samples), { qos: 1 })
  assert.equal((await gateway.request('GET', '/stats')).body.telemetry.gps, 5)
})

test('a graceful stop stores all queued data', async (t) => {
  const gateway = await startGateway()
  t.after(() => gateway.stop())
  const client = await gateway.device('cart-1')
  const database = new Database(join(gateway.config.dataDir, 'cartbarn.db'))
  database.exec('BEGIN EXCLUSIVE')
  const now = Date.now()
  for (let i = 0; i < 50; i++) {
    void client
      .publishAsync('dev/cart-1/tlm', JSON.stringify({ ts: now - i, battery_voltage: 40 }), { qos: 1 })
      .catch(() => undefined)
  }
  await eventually(async () => (await metric(gateway, 'cartbarn_write_queue_rows')) === 50, 'all queued')
  const restarted = gateway.restart()
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
  database.exec('ROLLBACK')
  database.close()
  await restarted
  assert.equal((await gateway.request('GET', '/devices/cart-1/battery?limit=1000')).body.length, 50)
})

test('the last will of a device that is connected at a graceful stop is stored', async (t) => {
  const gateway = await startGateway()
  t.after(() => gateway.stop())
  const password = await gateway.register('cart-1')
  const client = await RawMqtt.open(gateway.mqtt)
  const will = { topic: 'dev/cart-1/st', payload: 'not JSON' }
  await client.login({ clientId: 'cart-1', username: 'cart-1', password, will })
  await gateway.restart()
  assert.equal((await gateway.request('GET', '/mqtt/quarantine')).body[0]?.topic, 'dev/cart-1/st')
})

test('SIGTERM ends the program with success', async (t) => {
  const program = spawn(process.execPath, [ENTRY, 'run'], {
    env: bareEnvironment(settingsFor(newFolder(t))),
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 90_000,
  })
  let output = ''
  for await (const chunk of program.stdout) {
    output += chunk
    if (output.includes('"listening"')) break
  }
  program.kill('SIGTERM')
  assert.deepEqual(await once(program, 'exit'), [0, null])
})
