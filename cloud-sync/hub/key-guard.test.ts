import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeHubUser, createHubUser } from '#hub/store/users.ts'
import { ANY_DATABASE } from '#hub/testing/databases.ts'
import { hashSecret } from '#shared/ids.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { createHubBudgets } from './budgets.ts'
import { HubKeyGuard } from './key-guard.ts'

test('re-reading a user during a download does not count as a use of the key or as a request', async (t) => {
  const database = await ANY_DATABASE.open()
  t.after(() => database.stop())
  const all = { isActive: true, masksCodes: false, createdAtMs: 1 }
  const boss = { userId: 'u0', name: 'Admin', role: 'admin', siteIds: null } as const
  await createHubUser(database, { ...boss, ...all, keyHash: hashSecret('admin') })
  const key = 'the-key-of-a-viewer'
  const user = { userId: 'u1', name: 'Viewer', role: 'viewer', siteIds: ['east'] } as const
  const row = { ...user, ...all, keyHash: hashSecret(key) }
  assert.ok(await createHubUser(database, row))
  const used: string[] = []
  // a burst of four, and none is refilled
  const budgets = createHubBudgets(1, new FakeClock())
  const guard = new HubKeyGuard(database, budgets, (keyHash) => used.push(keyHash))
  for (let i = 0; i < 10; i++) assert.equal((await guard.userOf(key))?.userId, 'u1')
  assert.deepEqual(used, [])
  assert.equal((await guard.admit(key, '198.51.100.7')).userId, 'u1')
  assert.deepEqual(used, [hashSecret(key)])

  await changeHubUser(database, 'u1', { isActive: false })
  assert.equal(await guard.userOf(key), undefined)
  assert.equal(await guard.userOf('another-key'), undefined)
  assert.equal(used.length, 1)
})
