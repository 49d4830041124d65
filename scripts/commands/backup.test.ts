import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { CommandFolder } from '#scripts/testing/command-folder.ts'
import { createRandom } from '#shared/random.ts'
import { bareEnvironment } from '#shared/testing/bare-environment.ts'
import { finishReplacement } from '#store/replace/replace-database.ts'
import { BlockTable } from '#testing/block-table.ts'
import { S3Server } from '#testing/s3-server.ts'
import { backup } from './backup.ts'
import { restore } from './restore.ts'

/** Set CARTBARN_TEST_LONG=1 for fifty moments of a kill of each kind. */
const KILLS = process.env.CARTBARN_TEST_LONG === undefined ? 4 : 50
const SERVICE = 54_321
const IS_ROOT = process.getuid?.() === 0
/** User that owns the data: as root, the user of a service. */
const OWNER = IS_ROOT ? SERVICE : process.getuid?.()
const folder = mkdtempSync(join(tmpdir(), 'cartbarn-backup-kill-'))
const commands = new CommandFolder()
after(() => {
  rmSync(folder, { recursive: true, force: true })
  commands.remove()
})

const whole = join(folder, 'whole.db')
makeWhole()

function makeWhole(): void {
  const table = new BlockTable(whole)
  table.newDevice()
  table.connection.db.exec(`
    WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 20000)
      INSERT INTO lock_event (event_id, hardware_id, identity, event, source, at_ms, metadata)
      SELECT 'e' || i, 'cart-1', 'i' || i, 'unlock', 'rfid', i, hex(randomblob(60)) FROM c`)
  table.close()
}

function dataFolder(name: string): string {
  const data = mkdtempSync(join(folder, `${name}-`))
  copyFileSync(whole, join(data, 'cartbarn.db'))
  return data
}

function eventsIn(path: string): number {
  const db = new Database(path, { readonly: true })
  try {
    assert.equal(db.pragma('integrity_check', { simple: true }), 'ok')
    return Number(db.prepare('SELECT count(*) FROM lock_event').pluck().get())
  } finally {
    db.close()
  }
}

/** Returns the duration of the command if it is not killed. */
async function runAndTime(argv: readonly string[], killedAfterMs?: number): Promise<number> {
  const beganMs = performance.now()
  const child = spawn(process.execPath, [ENTRY, ...argv], { stdio: 'ignore', env: bareEnvironment({}) })
  const exit = once(child, 'exit')
  if (killedAfterMs !== undefined) {
    await Promise.race([exit, sleep(killedAfterMs)])
    child.kill('SIGKILL')
  }
  await exit
  return performance.now() - beganMs
}

const passphraseFile = join(folder, 'passphrase')
writeFileSync(passphraseFile, 'nineteenth hole\n')
const passphrase = ['--passphrase-file', passphraseFile]

test('a backup killed at any moment leaves the previous one, or is complete', {
  timeout: 600_000,
}, async () => {
  const random = createRandom('killed backups')
  const [data, file, sets] = [dataFolder('data'), join(folder, 'one.backup'), `${join(folder, 'sets')}/`]
  const tookMs = await runAndTime(['backup', file, '--data', data, ...passphrase])
  await runAndTime(['backup', sets, '--data', data, '--keep', '2', ...passphrase])
  for (let kill = 0; kill < KILLS; kill++) {
    const target = kill % 2 === 0 ? file : sets
    const argv = ['backup', target, '--data', data, ...(kill % 2 === 0 ? [] : ['--keep', '2']), ...passphrase]
    await runAndTime(argv, random.between(0.3, 1.1) * tookMs)
    const to = mkdtempSync(join(folder, 'to-'))
    const { code, err } = await commands.run(restore, [target, '--data', to, ...passphrase])
    assert.equal(code, 0, err)
    assert.equal(eventsIn(join(to, 'cartbarn.db')), 20_000)
    rmSync(to, { recursive: true })
  }
  // the next backup removes the remains
  await runAndTime(['backup', file, '--data', data, ...passphrase])
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.includes('unfinished')),
    [],
  )
})

test('a restore killed at any moment leaves the old or the new database, complete', {
  timeout: 600_000,
}, async () => {
  const random = createRandom('killed restores')
  const file = join(folder, 'to-restore.backup')
  await runAndTime(['backup', file, '--data', dataFolder('data')])
  const outcomes = new Set<number>()
  const newData = () => {
    const data = dataFolder('newer')
    const db = new Database(join(data, 'cartbarn.db'))
    db.exec("DELETE FROM lock_event WHERE seq > 10; UPDATE sqlite_sequence SET seq = 90000 WHERE name = 'lock_event'")
    db.close()
    for (const path of IS_ROOT ? [data, join(data, 'cartbarn.db')] : []) chownSync(path, SERVICE, SERVICE)
    return data
  }
  const tookMs = await runAndTime(['restore', file, '--force', '--data', newData()])
  for (let kill = 0; kill < KILLS; kill++) {
    const data = newData()
    await runAndTime(['restore', file, '--force', '--data', data], random.between(0.3, 1.1) * tookMs)
    // as each start does
    finishReplacement(data)
    const events = eventsIn(join(data, 'cartbarn.db'))
    assert.ok([10, 20_000].includes(events), `${events} events`)
    assert.equal(statSync(join(data, 'cartbarn.db')).uid, OWNER)
    outcomes.add(events)
    const again = await commands.run(restore, [file, '--force', '--data', data])
    assert.equal(again.code, 0, again.err)
    assert.equal(eventsIn(join(data, 'cartbarn.db')), 20_000)
    assert.equal(existsSync(join(data, 'restore-unfinished')), false)
    rmSync(data, { recursive: true })
  }
  assert.ok(outcomes.has(10))
})

test('both commands report an error in one line, and exit with 1', async () => {
  const data = dataFolder('data')
  const lines = [
    [
      await commands.run(backup, ['x.backup', '--data', join(folder, 'nowhere')]),
      /^backup: .*has no database of a gateway/,
    ],
    [await commands.run(backup, [join(folder, 'no', 'x.backup'), '--data', data]), /^backup: there is no folder/],
    [
      await commands.run(restore, ['none.backup', '--data', data]),
      /^restore: .*it does not exist\. Nothing was changed\.\n$/,
    ],
  ] as const
  for (const [{ code, err }, text] of lines) {
    assert.equal(code, 1)
    assert.match(err, text)
    assert.equal(err.split('\n').length, 2)
  }
  const { code } = await commands.run(backup, ['x.backup', '--keep', '0', '--data', data])
  assert.equal(code, 2)
})

test('both commands use the bucket of the settings, and name missing settings', async (t) => {
  const store = await S3Server.open(t)
  const data = mkdtempSync(join(folder, 'small-'))
  const table = new BlockTable(join(data, 'cartbarn.db'))
  table.newDevice()
  table.close()
  const target = 's3://barn/north'
  const { err, code } = await commands.run(backup, [target, '--data', data])
  assert.equal(code, 1)
  assert.match(err, /^backup: s3:\/\/barn\/north needs CARTBARN_BACKUP_S3_ENDPOINT, .*SECRET_FILE\n$/)
  const { endpoint, region, keyId, secret } = store.settings
  const config = join(folder, 's3.json')
  const named = { ENDPOINT: endpoint, REGION: region, KEY_ID: keyId, SECRET: secret }
  const lines = Object.entries(named).map(([name, value]) => [`BACKUP_S3_${name}`, value])
  writeFileSync(config, JSON.stringify(Object.fromEntries(lines)))
  const made = await commands.run(backup, [target, '--data', data, '--config', config, ...passphrase])
  assert.equal(made.code, 0, made.err)
  const to = mkdtempSync(join(folder, 'to-'))
  const back = await commands.run(restore, [target, '--data', to, '--config', config, ...passphrase])
  assert.equal(back.code, 0, back.err)
  assert.equal(eventsIn(join(to, 'cartbarn.db')), 0)
  assert.doesNotMatch(made.out + made.err + back.out + back.err, /secret\/of/)
})
