import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Events } from '#gateway/events.ts'
import { createLog } from '#shared/log.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { Store } from '#store/store.ts'
import { Users } from './users.ts'

const log = createLog('silent')
const GIVEN_KEY = 'a-key-of-at-least-24-characters'

async function openStore(t: TestContext): Promise<Store> {
  const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-users-'))
  const store = new Store({ dataDir, readerThreads: 1, writeQueueRows: 1000 }, log)
  await store.start()
  t.after(async () => {
    await store.stop()
    rmSync(dataDir, { recursive: true })
  })
  return store
}

async function openUsers(t: TestContext, store: Pick<Store, 'read' | 'write'>): Promise<Users> {
  const users = new Users({ store, events: new Events(log), clock: new FakeClock(), log })
  await users.start()
  t.after(() => users.stop())
  return users
}

test('the first admin gets a key that is told once', async (t) => {
  const store = await openStore(t)
  const users = await openUsers(t, store)
  const key = await users.ensureAdmin(undefined)
  assert.match(key ?? '', /^flt_[A-Za-z0-9_-]{43}$/)
  assert.equal(users.authenticate(key ?? '').caller.role, 'admin')
  assert.equal(await users.ensureAdmin(undefined), null)
  const [row, ...others] = store.read.users()
  assert.deepEqual(others, [])
  assert.ok(!JSON.stringify(row).includes(key ?? ''), 'only its hash is kept')
})

test('a given key is taken and not told', async (t) => {
  const store = await openStore(t)
  const users = await openUsers(t, store)
  assert.equal(await users.ensureAdmin(GIVEN_KEY), null)
  assert.equal(users.authenticate(GIVEN_KEY).caller.role, 'admin')
})

test('a given key is ignored once there is an admin', async (t) => {
  const store = await openStore(t)
  const first = await openUsers(t, store)
  const key = await first.ensureAdmin(undefined)
  const second = await openUsers(t, store)
  assert.equal(await second.ensureAdmin(GIVEN_KEY), null)
  assert.throws(() => second.authenticate(GIVEN_KEY), { code: 'invalid_api_key' })
  assert.equal(second.authenticate(key ?? '').row.name, 'Admin')
  assert.equal(second.all().length, 1)
})

test('usage that could not be written is written the next time, with what was added since', async (t) => {
  const store = await openStore(t)
  let isBroken = false
  let attempts = 0
  const users = await openUsers(t, {
    read: store.read,
    write: (name, input) => {
      if (name === 'recordUsage') attempts++
      return isBroken ? Promise.reject(new Error('disk full')) : store.write(name, input)
    },
  })
  await users.ensureAdmin(GIVEN_KEY)
  const count = () => users.countRequest(users.authenticate(GIVEN_KEY))
  const stored = () => store.read.users()[0]?.usage.totalRequests
  count()
  isBroken = true
  await users.flushUsage()
  assert.equal(stored(), 0)
  count()
  await users.flushUsage()
  isBroken = false
  await users.flushUsage()
  assert.equal(stored(), 2)
  assert.equal(attempts, 3)
  await users.flushUsage()
  assert.equal(attempts, 3, 'nothing new is not written')
})

test('usage of a user deleted while it could not be written is forgotten', async (t) => {
  const store = await openStore(t)
  let isBroken = false
  const users = await openUsers(t, {
    read: store.read,
    write: (name, input) =>
      isBroken && name === 'recordUsage' ? Promise.reject(new Error('disk full')) : store.write(name, input),
  })
  await users.ensureAdmin(GIVEN_KEY)
  const { row, apiKey } = await users.create({
    name: 'Guest',
    email: null,
    role: 'user',
    allowedHardwareIds: null,
  })
  users.countRequest(users.authenticate(apiKey))
  isBroken = true
  await users.flushUsage()
  await users.delete(row.userId)
  isBroken = false
  await users.flushUsage()
  assert.deepEqual(
    store.read.users().map(({ name }) => name),
    ['Admin'],
  )
})

test('usage counted while it is being written is not lost', async (t) => {
  const store = await openStore(t)
  const users = await openUsers(t, store)
  await users.ensureAdmin(GIVEN_KEY)
  const count = () => users.countRequest(users.authenticate(GIVEN_KEY))
  count()
  const flushing = users.flushUsage()
  count()
  await flushing
  await users.stop()
  assert.equal(store.read.users()[0]?.usage.totalRequests, 2)
})
