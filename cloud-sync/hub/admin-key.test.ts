import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Database } from '#hub/store/database/database.ts'
import { ANY_DATABASE } from '#hub/testing/databases.ts'
import { HUB_CONFIG } from '#hub/testing/open-hub.ts'
import { runHub, runHubCommand } from '#hub/testing/run-hub.ts'
import { createLog } from '#shared/log.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { createHub, type Hub } from './hub.ts'

/** Opens hubs over one database, each with a data folder. */
async function openOffice(t: TestContext) {
  const database = await ANY_DATABASE.open()
  t.after(() => database.stop())
  let logged = ''
  const write = (line: string) => {
    logged += line
  }
  const newFolder = () => {
    const folder = mkdtempSync(join(tmpdir(), 'cartbarn-hub-key-'))
    t.after(() => rmSync(folder, { recursive: true }))
    return folder
  }
  const create = (dataDir: string, more: { adminApiKey?: string; port?: number } = {}): Hub => {
    const config = { ...HUB_CONFIG, adminApiKey: undefined, dataDir, ...more }
    // several of them share the database, which the test stops
    const shared: Database = {
      start: async () => undefined,
      stop: async () => undefined,
      all: (text, values) => database.all(text, values),
      get: (text, values) => database.get(text, values),
      run: (text, values) => database.run(text, values),
      transaction: (work) => database.transaction(work),
      requireWritable: () => database.requireWritable(),
    }
    const hub = createHub(config, createLog('info', { write }), { database: shared })
    t.after(() => hub.stop())
    return hub
  }
  return { newFolder, create, logged: () => logged }
}

const keyIn = (folder: string) => readFileSync(join(folder, 'admin-key.txt'), 'utf8').trim()
const isThere = (folder: string) => existsSync(join(folder, 'admin-key.txt'))

async function statusWith(hub: Hub, key: string): Promise<number> {
  return (await hub.app.request('/users', { headers: { 'x-api-key': key } })).status
}

test('the key is in a file for its owner only, in no log, and its first use deletes the file', async (t) => {
  const { newFolder, create, logged } = await openOffice(t)
  const folder = newFolder()
  await create(folder).start()
  const key = keyIn(folder)
  assert.match(key, /^cbh_[\w-]{43}$/)
  assert.equal(statSync(join(folder, 'admin-key.txt')).mode & 0o777, 0o600)
  const second = create(folder)
  await second.start()
  assert.equal(keyIn(folder), key)
  assert.equal(second.adminKeyFile()?.path, join(folder, 'admin-key.txt'))
  assert.equal(await statusWith(second, key), 200)
  assert.equal(isThere(folder), false)
  assert.equal(second.adminKeyFile(), null)
  assert.ok(!logged().includes(key))
})

test('when two hubs start on one database together, only the file with the valid key remains', async (t) => {
  const { newFolder, create } = await openOffice(t)
  const folders = [newFolder(), newFolder()]
  const hubs = folders.map((folder) => create(folder))
  await Promise.all(hubs.map((hub) => hub.start()))
  const [folder, ...others] = folders.filter(isThere)
  assert.deepEqual(others, [])
  const key = keyIn(folder ?? '')
  for (const hub of hubs) assert.equal(await statusWith(hub, key), 200)
})

test('a start that cannot listen creates no admin', async (t) => {
  const { newFolder, create } = await openOffice(t)
  const folder = newFolder()
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.after(() => taken.close())
  const address = taken.address()
  assert.ok(typeof address === 'object' && address !== null)
  await assert.rejects(create(folder, { port: address.port }).start(), {
    message: new RegExp(`^port ${address.port} is taken by .+ set CARTBARN_HUB_PORT to another port$`),
  })
  assert.equal(isThere(folder), false)
  const hub = create(folder)
  await hub.start()
  assert.equal(await statusWith(hub, keyIn(folder)), 200)
})

test('a start killed between the file and the admin leaves its key to the next start', async (t) => {
  const { newFolder, create } = await openOffice(t)
  const folder = newFolder()
  writeFileSync(join(folder, 'admin-key.txt'), `cbh_${'k'.repeat(43)}\n`)
  const hub = create(folder)
  await hub.start()
  assert.equal(await statusWith(hub, `cbh_${'k'.repeat(43)}`), 200)
})

test('the log names a different key that is set later', async (t) => {
  const { newFolder, create, logged } = await openOffice(t)
  const folder = newFolder()
  await create(folder, { adminApiKey: 'a-key-of-at-least-24-characters' }).start()
  assert.equal(isThere(folder), false)
  assert.doesNotMatch(logged(), /HUB_ADMIN_API_KEY/)
  await create(folder, { adminApiKey: 'another-key-of-24-characters' }).start()
  assert.match(logged(), /CARTBARN_HUB_ADMIN_API_KEY is not the key of an admin.*admin-key makes a new key/)
})

test('hub admin-key replaces the key, with the hub running or stopped', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-hub-key-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const settings = { CARTBARN_HUB_DATA_DIR: folder }
  const hub = await runHub(settings)
  t.after(() => hub.end('SIGKILL'))
  const ask = async (key: string) => (await fetch(`${hub.url}/users`, { headers: { 'x-api-key': key } })).status
  const first = keyIn(folder)
  assert.doesNotMatch(hub.output.join('\n'), /cbh_/)

  const running = await runHubCommand(['admin-key'], settings)
  assert.match(running.stdout, /admin-key\.txt has, until its first use, the new key of Admin/)
  assert.doesNotMatch(running.stdout, /cbh_/)
  assert.deepEqual([await ask(first), await ask(keyIn(folder))], [401, 200])
  await eventually(() => !isThere(folder), 'no file')

  await hub.end('SIGTERM')
  const stopped = await runHubCommand(['admin-key'], settings)
  assert.equal(stopped.exitCode, 0, stopped.stderr)
  assert.match(keyIn(folder), /^cbh_/)
})
