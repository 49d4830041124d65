import assert from 'node:assert/strict'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { runHub, runHubCommand } from '#hub/testing/run-hub.ts'

test('a hub is backed up while it runs and put back; what is no backup changes nothing', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-hub-backup-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const dataDir = join(folder, 'data')
  const settings = { CARTBARN_HUB_DATA_DIR: dataDir }
  const file = join(folder, 'hub.backup')
  const hub = await runHub(settings)
  t.after(() => hub.end('SIGKILL'))
  assert.equal((await runHubCommand(['site', 'add', 'Old Course'], settings)).exitCode, 0)
  const made = await runHubCommand(['backup', file], settings)
  assert.deepEqual([made.exitCode, made.stderr], [0, ''])
  assert.match(made.stdout, /hub\.backup has [\d,]+ bytes: 1 sites and 1 users\./)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const again = await runHubCommand(['backup', file], settings)
  assert.equal(again.exitCode, 1)
  assert.match(again.stderr, /the backup .*hub\.backup cannot be made: it exists/)
  const inUse = await runHubCommand(['restore', file], settings)
  assert.equal(inUse.exitCode, 1)
  assert.match(inUse.stderr, /another hub is using the data folder/)
  assert.equal((await runHubCommand(['site', 'add', 'New Course'], settings)).exitCode, 0)
  await hub.end('SIGTERM')

  const torn = join(folder, 'torn.backup')
  const bytes = readFileSync(file)
  for (const part of [bytes.subarray(0, bytes.length / 2), Buffer.from('no backup')]) {
    writeFileSync(torn, part)
    const refused = await runHubCommand(['restore', torn], settings)
    assert.equal(refused.exitCode, 1)
    assert.match(refused.stderr, /is no whole backup of a hub .*nothing was changed/s)
  }
  assert.match((await runHubCommand(['site', 'list'], settings)).stdout, /New Course/)

  const restored = await runHubCommand(['restore', file], settings)
  assert.deepEqual([restored.exitCode, restored.stderr], [0, ''])
  assert.match(restored.stdout, /1 sites and 1 users\. The one that was there is kept in .*postgres-before-/)
  const { stdout } = await runHubCommand(['site', 'list'], settings)
  assert.match(stdout, /Old Course/)
  assert.doesNotMatch(stdout, /New Course/)
  assert.ok(readdirSync(dataDir).some((name) => name.startsWith('postgres-before-')))
  assert.ok(!existsSync(join(dataDir, 'restore-unfinished')))

  renameSync(join(dataDir, 'postgres'), join(dataDir, 'postgres-successor'))
  assert.match(
    (await runHubCommand(['site', 'list'], settings)).stdout,
    /Old Course/,
    'as if cut off between its names',
  )
})
