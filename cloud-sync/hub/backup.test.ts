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
import { PgliteDatabase } from '#hub/store/database/pglite.ts'
import { runHub, runHubCommand } from '#hub/testing/run-hub.ts'

test('a running hub can be backed up and restored; restoring an invalid backup changes nothing', async (t) => {
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
  assert.match(again.stderr, /the backup .*hub\.backup could not be written: it exists/)
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
    assert.match(refused.stderr, /is not a complete backup of a hub .*nothing was changed/s)
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

  // as an attacker with write access to the file would
  const altered = new PgliteDatabase(undefined, new Blob([readFileSync(file)]))
  await altered.start()
  await altered.run('CREATE TABLE theirs (a INTEGER)')
  await altered.run(
    "CREATE FUNCTION up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.name := 'theirs'; RETURN NEW; END $$",
  )
  await altered.run('CREATE TRIGGER up BEFORE INSERT OR UPDATE ON site FOR EACH ROW EXECUTE FUNCTION up()')
  await altered.run('CREATE RULE none AS ON DELETE TO hub_user DO INSTEAD NOTHING')
  await altered.run('CREATE VIEW seen AS SELECT * FROM hub_user')
  writeFileSync(torn, Buffer.from(await (await altered.dump()).arrayBuffer()))
  await altered.run('ALTER TABLE site RENAME TO site_kept')
  await altered.run('CREATE VIEW site AS SELECT * FROM site_kept')
  const view = join(folder, 'view.backup')
  writeFileSync(view, Buffer.from(await (await altered.dump()).arrayBuffer()))
  await altered.stop()
  const refused = await runHubCommand(['restore', view], settings)
  assert.deepEqual([refused.exitCode, refused.stderr.includes('table site has other columns')], [1, true])
  assert.equal((await runHubCommand(['restore', torn], settings)).exitCode, 0)
  const clean = new PgliteDatabase(dataDir)
  await clean.start()
  const programs = await clean.all(
    `SELECT tgname FROM pg_trigger WHERE NOT tgisinternal UNION ALL SELECT rulename FROM pg_rules WHERE schemaname =
      'public'
     UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
     UNION ALL SELECT relname FROM pg_class WHERE relname IN ('theirs', 'seen')`,
  )
  assert.deepEqual(programs, [])
  await clean.stop()

  renameSync(join(dataDir, 'postgres'), join(dataDir, 'postgres-successor'))
  assert.match(
    (await runHubCommand(['site', 'list'], settings)).stdout,
    /Old Course/,
    'as if cut off between its names',
  )
})
