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

test('the first admin is made once, and only the hash of its key is kept', async (t) => {
  const store = await openStore(t)
  const users = await openUsers(t, store)
  await users.createFirstAdmin(GIVEN_KEY, true)
  await users.createFirstAdmin('another-key-of-24-characters', true)
  assert.equal(users.authenticate(GIVEN_KEY).caller.role, 'admin')
  assert.throws(() => users.authenticate('another-key-of-24-characters'), { code: 'invalid_api_key' })
  const [row, ...others] = store.read.users()
  assert.deepEqual(others, [])
  assert.ok(!JSON.stringify(row).includes(GIVEN_KEY))
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
  await users.createFirstAdmin(GIVEN_KEY, true)
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
  await users.createFirstAdmin(GIVEN_KEY, true)
  const { row, apiKey } = await users.create({ name: 'Guest', email: null, role: 'user', allowedHardwareIds: null })
  users.countRequest(users.authenticate(apiKey))
  isBroken = true
  await users.flushUsage()
  await users.delete(row.userId)
  isBroken = false
  await users.flushUsage()
  const names = store.read.users().map(({ name }) => name)
  assert.deepEqual(names, ['Admin'])
})

test('usage counted while it is being written is not lost', async (t) => {
  const store = await openStore(t)
  const users = await openUsers(t, store)
  await users.createFirstAdmin(GIVEN_KEY, true)
  const count = () => users.countRequest(users.authenticate(GIVEN_KEY))
  count()
  const flushing = users.flushUsage()
  count()
  await flushing
  await users.stop()
  assert.equal(store.read.users()[0]?.usage.totalRequests, 2)
})
