import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Config, readConfig } from '#gateway/config.ts'
import { createGateway } from '#gateway/gateway.ts'
import type { Gateway } from '#gateway/restorable-gateway.ts'
import { createLog } from '#shared/log.ts'
import { createRandom } from '#shared/random.ts'
import { bareEnvironment } from '#shared/testing/bare-environment.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { replaceAdminKey } from './admin-key.ts'

const ENTRY = fileURLToPath(new URL('../../scripts/commands/cartbarn.ts', import.meta.url))
const GIVEN_KEY = 'a-key-of-at-least-24-characters'

/** Data folder on which gateways are started one after the other. */
class Barn {
  readonly #t: TestContext
  readonly folder = mkdtempSync(join(tmpdir(), 'cartbarn-key-'))
  readonly keyFile = join(this.folder, 'admin-key.txt')
  /** Log output of all gateways. */
  logged = ''

  constructor(t: TestContext) {
    this.#t = t
    t.after(() => rmSync(this.folder, { recursive: true }))
  }

  settings(more: Record<string, string> = {}): Record<string, string> {
    return {
      CARTBARN_DATA_DIR: this.folder,
      CARTBARN_HOST: '127.0.0.1',
      CARTBARN_READER_THREADS: '1',
      CARTBARN_HTTP_PORT: '0',
      CARTBARN_MQTT_PORT: '0',
      ...more,
    }
  }

  config(more: Record<string, string> = {}): Config {
    return readConfig(this.settings(more))
  }

  async start(more: Record<string, string> = {}): Promise<Gateway> {
    const write = (line: string) => {
      this.logged += line
    }
    const gateway = createGateway(this.config(more), createLog('info', { write }))
    this.#t.after(() => gateway.stop())
    await gateway.start()
    return gateway
  }

  /** Starts and stops a gateway. */
  async run(more: Record<string, string> = {}): Promise<void> {
    await (await this.start(more)).stop()
  }

  key(): string {
    return readFileSync(this.keyFile, 'utf8').split('\n', 1)[0] ?? ''
  }
}

async function statusWith(gateway: Gateway, key: string): Promise<number> {
  return (await gateway.app.request('/users', { headers: { 'x-api-key': key } })).status
}

test('the key is in a file for its owner only, in no log, and its first use deletes the file', async (t) => {
  const barn = new Barn(t)
  const gateway = await barn.start()
  const key = barn.key()
  assert.match(key, /^flt_[\w-]{43}$/)
  assert.equal(statSync(barn.keyFile).mode & 0o777, 0o600)
  assert.equal(gateway.adminKeyFile()?.path, barn.keyFile)
  await sleep(2_500)
  assert.equal(barn.key(), key, 'nobody has used it')
  assert.equal(await statusWith(gateway, key), 200)
  await eventually(() => !existsSync(barn.keyFile), 'no file')
  assert.equal(gateway.adminKeyFile(), null)
  await gateway.stop()
  assert.ok(!barn.logged.includes(key))

  const second = await barn.start()
  assert.equal(existsSync(barn.keyFile), false)
  assert.equal(await statusWith(second, key), 200)
})

test('a login over MQTT counts as a use', async (t) => {
  const barn = new Barn(t)
  const first = await barn.start()
  const users = await first.app.request('/users', { headers: { 'x-api-key': barn.key() } })
  // the same steps as in the API documentation
  const [{ user_id: username = '' } = {}] = (await users.json()) as { user_id?: string }[]
  await first.stop()
  await replaceAdminKey(barn.config(), false)

  const { mqtt = '' } = (await barn.start()).addresses()
  const client = await RawMqtt.open(mqtt)
  assert.equal(await client.login({ clientId: 'x', username, password: barn.key() }), 0)
  await eventually(() => !existsSync(barn.keyFile), 'no file')
})

test('a request for /health with the key counts as a use, one with another key does not', async (t) => {
  const barn = new Barn(t)
  const { app } = await barn.start()
  const health = (key: string) => app.request('/health', { headers: { 'x-api-key': key } })
  await health('flt_another_key')
  await sleep(2_500)
  assert.ok(existsSync(barn.keyFile))
  await health(barn.key())
  await eventually(() => !existsSync(barn.keyFile), 'no file')
})

test('a key used just before the gateway stops has no file left', async (t) => {
  const barn = new Barn(t)
  const gateway = await barn.start()
  assert.equal(await statusWith(gateway, barn.key()), 200)
  await gateway.stop()
  assert.equal(existsSync(barn.keyFile), false)
})

test('a start that cannot listen creates no admin, and the next one gives a key', async (t) => {
  const barn = new Barn(t)
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.after(() => taken.close())
  const address = taken.address()
  assert.ok(typeof address === 'object' && address !== null)
  for (const name of ['CARTBARN_HTTP_PORT', 'CARTBARN_MQTT_PORT'])
    await assert.rejects(barn.start({ [name]: String(address.port) }), {
      message: new RegExp(`^port ${address.port} is taken by .+ set ${name} to another port$`),
    })
  assert.equal(existsSync(barn.keyFile), false)
  assert.equal(await statusWith(await barn.start(), barn.key()), 200)
})

test('the command creates a key for a gateway that never ran or failed on a taken port', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.after(() => taken.close())
  const address = taken.address()
  assert.ok(typeof address === 'object' && address !== null)
  for (const isShown of [false, true]) {
    const [refused, never] = [new Barn(t), new Barn(t)]
    await assert.rejects(refused.start({ CARTBARN_HTTP_PORT: String(address.port) }), /is taken by/)
    for (const barn of [refused, never]) {
      const made = await replaceAdminKey(barn.config(), isShown)
      assert.deepEqual([made.name, made.isFirst], ['Admin', true])
      const key = 'key' in made ? made.key : barn.key()
      const gateway = await barn.start()
      assert.equal(gateway.setupCode() === null, isShown)
      assert.equal(await statusWith(gateway, key), 200)
      assert.equal((await gateway.app.request('/users', { headers: { 'x-api-key': key } })).status, 200)
    }
  }
})

test('the command creates no database in a missing folder or one with other files', async (t) => {
  const barn = new Barn(t)
  writeFileSync(join(barn.folder, 'letter.txt'), '')
  const missing = join(barn.folder, 'data')
  for (const CARTBARN_DATA_DIR of [barn.folder, missing])
    await assert.rejects(
      replaceAdminKey(barn.config({ CARTBARN_DATA_DIR }), false),
      /has no database of a gateway: set CARTBARN_DATA_DIR/,
    )
  assert.equal(existsSync(missing), false)
})

test('an unused key stays in its file across starts', async (t) => {
  const barn = new Barn(t)
  await barn.run()
  const key = barn.key()
  await barn.run()
  assert.equal(barn.key(), key)
  assert.equal(await statusWith(await barn.start(), key), 200)
})

test('a start killed between the file and the admin leaves a key that the next one makes valid', async (t) => {
  const barn = new Barn(t)
  const key = `flt_${'k'.repeat(43)}`
  writeFileSync(barn.keyFile, `${key}\n`, { mode: 0o600 })
  const gateway = await barn.start()
  assert.equal(await statusWith(gateway, barn.key()), 200)
})

test('a missing key file of an unused admin is replaced, with a new key', async (t) => {
  const barn = new Barn(t)
  await barn.run()
  const key = barn.key()
  rmSync(barn.keyFile)
  const gateway = await barn.start()
  assert.notEqual(barn.key(), key)
  assert.equal(await statusWith(gateway, barn.key()), 200)
  assert.equal(await statusWith(gateway, key), 401)
})

test('a file with an invalid key is deleted', async (t) => {
  const barn = new Barn(t)
  const first = await barn.start({ CARTBARN_ADMIN_API_KEY: GIVEN_KEY })
  await first.stop()
  writeFileSync(barn.keyFile, 'flt_old\n')
  await barn.start()
  assert.equal(existsSync(barn.keyFile), false)
})

test('a configured key needs no file, and stays valid when it is not configured again', async (t) => {
  const barn = new Barn(t)
  await barn.run({ CARTBARN_ADMIN_API_KEY: GIVEN_KEY })
  const gateway = await barn.start()
  assert.equal(existsSync(barn.keyFile), false)
  assert.equal(await statusWith(gateway, GIVEN_KEY), 200)
  assert.doesNotMatch(barn.logged, /CARTBARN_ADMIN_API_KEY/)
})

test('the log names a different key that is set later, and the key has no access', async (t) => {
  const barn = new Barn(t)
  await barn.run({ CARTBARN_ADMIN_API_KEY: GIVEN_KEY })
  const other = 'another-key-of-24-characters'
  const gateway = await barn.start({ CARTBARN_ADMIN_API_KEY: other })
  assert.equal(await statusWith(gateway, other), 401)
  assert.match(barn.logged, /CARTBARN_ADMIN_API_KEY is ignored.*npm run admin-key/)
  assert.ok(!barn.logged.includes(other))
})

test('a replaced key is in the file until it is used, or printed and in no file', async (t) => {
  const barn = new Barn(t)
  await barn.run()
  const path = barn.keyFile
  assert.deepEqual(await replaceAdminKey(barn.config(), false), { name: 'Admin', isFirst: false, path })
  const inFile = barn.key()
  const shown = await replaceAdminKey(barn.config(), true)
  assert.ok('key' in shown)
  assert.equal(existsSync(barn.keyFile), false)
  const gateway = await barn.start()
  assert.equal(await statusWith(gateway, inFile), 401)
  assert.equal(await statusWith(gateway, shown.key), 200)
})

test('starts killed at any moment leave a usable key, and none in their output', async (t) => {
  const barn = new Barn(t)
  const random = createRandom(Date.now(), 'kills').next
  for (let i = 0; i < 6; i++) {
    const child = spawn(process.execPath, [ENTRY, 'run'], {
      env: bareEnvironment(barn.settings()),
      stdio: 'pipe',
    })
    let printed = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text) => {
        printed += text
      })
    await sleep(random() * 1_500)
    child.kill('SIGKILL')
    await once(child, 'close')
    assert.doesNotMatch(printed, /flt_/)
  }
  const gateway = await barn.start()
  assert.equal(await statusWith(gateway, barn.key()), 200)
})
