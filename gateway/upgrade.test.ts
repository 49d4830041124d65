import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { createLog } from '#shared/log.ts'
import { toIso } from '#shared/time.ts'
import { programVersion } from '#shared/version.ts'
import { Connection } from '#store/db/connection.ts'
import { knownSchema, migrate } from '#store/migrate.ts'
import { readProgramRecord } from '#store/upgrade/program-record.ts'
import { openForSetup } from '#store/writer/open.ts'
import { newFolder } from '#testing/backup-sets.ts'
import { FIRST_MS, fillSchema, RECORDS, ROWS } from '#testing/rows-of-schema.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { readConfig } from './config.ts'
import { createGateway } from './gateway.ts'

function folderOf(t: TestContext, schema: number): string {
  const folder = newFolder(t)
  const connection = openForSetup(join(folder, 'cartbarn.db'))
  migrate(connection, schema)
  fillSchema(connection)
  connection.close()
  return folder
}

async function startOn(t: TestContext, folder: string): Promise<TestGateway> {
  const gateway = await startGateway({ CARTBARN_DATA_DIR: folder })
  t.after(() => gateway.stop())
  return gateway
}

const countIn = (folder: string, sql: string) => {
  const connection = new Connection(new Database(join(folder, 'cartbarn.db'), { readonly: true }))
  try {
    return connection.get<{ n: number }>(sql)?.n
  } finally {
    connection.close()
  }
}

/** Selected schemas; `store/upgrade/every-schema.test.ts` checks every row of every schema. */
const SCHEMAS =
  process.env.CARTBARN_TEST_LONG !== undefined
    ? Array.from({ length: knownSchema() - 1 }, (_, i) => i + 1)
    : [1, 6, 7, 14, 20, knownSchema() - 1]

for (const schema of SCHEMAS) {
  test(`a gateway starts with a folder of schema ${schema}, serves its data, and keeps a backup`, async (t) => {
    const folder = folderOf(t, schema)
    const gateway = await startOn(t, folder)
    const { status, body: health } = await gateway.request('GET', '/health')
    assert.deepEqual([status, health.status, health.damage], [200, 'ok', undefined])

    const { body: listed } = await gateway.request('GET', '/devices')
    const hardwareIds = listed.devices.map((device: { hardware_id: string }) => device.hardware_id)
    assert.deepEqual(hardwareIds, ['cart-1', 'cart-2', 'cart-3'])
    const range = `from=${toIso(FIRST_MS)}&to=${toIso(FIRST_MS + RECORDS * 1000)}&limit=100`
    for (const stream of ['gps', 'battery']) {
      const { body: records } = await gateway.request('GET', `/devices/cart-2/${stream}?${range}`)
      assert.equal(records.length, RECORDS, stream)
    }
    assert.equal((await gateway.request('GET', '/users')).body.length, ROWS)
    const { body: events } = await gateway.request('GET', `/lock-events?from=${toIso(FIRST_MS - 1)}`)
    assert.equal((events.events ?? events).length, ROWS)

    const [backup = ''] = readdirSync(join(folder, 'backups'))
    assert.match(backup, /^before-\d+\.\d+\.\d+-\d{8}T\d{6}Z\.db$/)
    const old = new Connection(new Database(join(folder, 'backups', backup), { readonly: true }))
    assert.equal(old.db.pragma('user_version', { simple: true }), schema)
    assert.equal(old.get<{ n: number }>('SELECT count(*) AS n FROM device')?.n, ROWS)
    old.close()
    const record = readProgramRecord(folder)
    assert.deepEqual([record?.program, record?.backup?.file], [programVersion(), backup])
    assert.ok(record?.openedAtMs)
  })
}

test('a database of a later schema is rejected, and the error names the program to install', async (t) => {
  const folder = folderOf(t, knownSchema())
  const connection = new Connection(new Database(join(folder, 'cartbarn.db')))
  connection.run("INSERT INTO migration VALUES (99, '7.1.0', 1)")
  connection.db.pragma('user_version = 99')
  connection.close()
  await assert.rejects(startGateway({ CARTBARN_DATA_DIR: folder }), (error: Error) => {
    assert.match(error.message, /written by cartbarn 7\.1\.0 \(schema 99\)/)
    assert.match(error.message, /install cartbarn 7\.1\.0 or a newer one/)
    return true
  })
  assert.equal(countIn(folder, 'SELECT count(*) AS n FROM device'), ROWS)
})

test('the database of another program is rejected and not touched', async (t) => {
  for (const pragma of ['user_version = 0', 'user_version = 75', 'application_id = 77', 'user_version = 3']) {
    const folder = newFolder(t)
    const path = join(folder, 'cartbarn.db')
    const other = new Database(path)
    other.exec('CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url TEXT); CREATE INDEX by_url ON moz_places (url)')
    other.pragma(pragma)
    other.close()
    const before = readFileSync(path)
    await assert.rejects(startGateway({ CARTBARN_DATA_DIR: folder }), /database of another program/, pragma)
    assert.deepEqual(readFileSync(path), before, pragma)
  }
})

test('an empty file becomes a new database, except where a database existed', async (t) => {
  const folder = newFolder(t)
  writeFileSync(join(folder, 'cartbarn.db'), '')
  const gateway = await startOn(t, folder)
  await gateway.register('cart-1')
  await gateway.restart(() => {
    mkdirSync(join(folder, 'kept'))
    writeFileSync(join(folder, 'kept', 'cartbarn.db'), readFileSync(join(folder, 'cartbarn.db')))
  })
  assert.equal((await gateway.request('GET', '/devices')).body.devices.length, 1)
  await assert.rejects(
    gateway.restart(() => writeFileSync(join(folder, 'cartbarn.db'), '')),
    /is empty, but had a database before/,
  )
})

test('half a database is rejected with an explanation', async (t) => {
  const folder = folderOf(t, 20)
  const path = join(folder, 'cartbarn.db')
  const whole = readFileSync(path)
  writeFileSync(path, whole.subarray(0, Math.floor(whole.length / 2)))
  await assert.rejects(startGateway({ CARTBARN_DATA_DIR: folder }), /cannot be used: .*npm run repair/)
})

test('during an upgrade HTTP reports its progress, and devices are accepted once it has finished', async (t) => {
  const folder = folderOf(t, 20)
  const probe = createServer()
  probe.listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  assert.ok(typeof address === 'object' && address !== null)
  probe.close()
  const http = `http://127.0.0.1:${address.port}`
  const ask = async (path: string, accept = '*/*') => {
    const answer = await fetch(http + path, { headers: { accept } })
    return { status: answer.status, text: await answer.text() }
  }
  const steps: string[] = []
  const seen: Awaited<ReturnType<typeof ask>>[] = []
  const gateway = await startGateway(
    { CARTBARN_DATA_DIR: folder, CARTBARN_HTTP_PORT: String(address.port) },
    {
      onUpgrade: async (progress) => {
        steps.push(progress.kind)
        if (progress.kind === 'backup')
          seen.push(await ask('/health'), await ask('/devices'), await ask('/app/', 'text/html'))
      },
    },
  )
  t.after(() => gateway.stop())
  assert.deepEqual(steps, ['backup', ...Array(knownSchema() - 20).fill('migration')])
  const [health, devices, page] = seen
  assert.deepEqual([health?.status, JSON.parse(health?.text ?? '').status], [503, 'upgrading'])
  assert.deepEqual([devices?.status, JSON.parse(devices?.text ?? '').code], [503, 'upgrading'])
  assert.equal(page?.status, 503)
  assert.match(page?.text ?? '', /being upgraded/)
  assert.equal((await gateway.request('GET', '/health')).body.status, 'ok')
  await gateway.device('cart-9')
})

test('a stop during an upgrade leaves the database unchanged', async (t) => {
  const folder = folderOf(t, 20)
  let stop: Promise<void> | undefined
  const config = readConfig({
    CARTBARN_DATA_DIR: folder,
    CARTBARN_HOST: '127.0.0.1',
    CARTBARN_HTTP_PORT: '0',
    CARTBARN_MQTT_PORT: '0',
  })
  const gateway = createGateway(config, createLog('silent'), {
    onUpgrade: () => {
      stop ??= gateway.stop()
    },
  })
  await assert.rejects(gateway.start())
  await stop
  assert.equal(countIn(folder, 'SELECT user_version AS n FROM pragma_user_version'), 20)
  assert.equal(readProgramRecord(folder)?.openedAtMs ?? null, null)
})
