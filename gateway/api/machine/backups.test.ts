import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { fails, ok, pluck, scene } from '#testing/scene.ts'
import { startFor } from '#testing/start-gateway.ts'

const folder = mkdtempSync(join(tmpdir(), 'cartbarn-api-backups-'))
const target = `${join(folder, 'stick')}/`
/** Generous limit: the thread has the lowest priority, and the machine may be busy. */
const DONE_WITHIN_MS = 240_000
/** True once the backup has ended. */
const isDone = () =>
  eventually(async () => (await g.get('/backups')).body.state === 'idle', 'the backup', DONE_WITHIN_MS)
const { g, onlyFor } = scene({
  isRealTime: true,
  settings: {
    CARTBARN_DATA_DIR: join(folder, 'data'),
    CARTBARN_BACKUP_TO: target,
    CARTBARN_BACKUP_PASSPHRASE: 'the nineteenth hole',
  },
  inScope: ['cart-1'],
})
after(() => rmSync(folder, { recursive: true, force: true }))

onlyFor('admins', ['GET', '/backups'], ['POST', '/backups'])

test('a gateway without a target reports that and rejects backups', async (t) => {
  const bare = await startFor(t)
  const { body } = await bare.get('/backups')
  assert.deepEqual([body.target, body.state, body.next_at, body.backups], [null, 'none', null, []])
  assert.ok(body.lacks.length > 0)
  await fails(bare.post('/backups'), 409, 'no_backup_target')
})

test('an admin starts one backup at a time and sees its result; the audit log has the user', async () => {
  const nowMs = Date.now()
  const before = await g.get('/backups')
  assert.deepEqual([before.body.target, before.body.state, before.body.backups], [target, 'idle', []])
  assert.ok(Date.parse(before.body.next_at) >= nowMs)
  const [first, second] = await Promise.all([g.post('/backups'), g.post('/backups')])
  assert.deepEqual([first.status, first.body], [202, { success: true }])
  assert.deepEqual([second.status, second.body.code], [409, 'backup_running'])
  await isDone()
  const { body } = await g.get('/backups')
  assert.equal(body.last_error, null)
  assert.deepEqual(pluck(body.backups, 'number', 'at'), [[1, body.last_good_at]])
  assert.ok(body.backups[0].rows > 0 && body.backups[0].bytes > 0)
  const entries = await g.get('/audit-log?action=backup.started')
  assert.equal(entries.body.entries.length, 1)
  assert.deepEqual(entries.body.entries[0].after, { target })
})

test('the failure of the last backup is reported, and the earlier backups stay listed', async () => {
  rmSync(target, { recursive: true, force: true })
  writeFileSync(join(folder, 'stick'), 'in the way')
  await ok(g.post('/backups'), 202)
  await isDone()
  const { body } = await g.get('/backups')
  assert.match(body.last_error.detail, /stick/)
  assert.equal(body.backups.length, 1)
})
