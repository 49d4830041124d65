import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createLog } from '#shared/log.ts'
import { programVersion } from '#shared/version.ts'
import { fillSchema } from '#testing/rows-of-schema.ts'
import { openReader } from '../db/connection.ts'
import { migrate } from '../migrate.ts'
import { Store } from '../store.ts'
import { openForSetup } from '../writer/open.ts'
import { backUpBefore } from './backup-before.ts'
import { readProgramRecord } from './program-record.ts'

const OLD_SCHEMA = 20

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-backup-before-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Writes a database of an older schema to a folder. */
function putOld(dataDir: string): string {
  const path = join(dataDir, 'cartbarn.db')
  const connection = openForSetup(path)
  migrate(connection, OLD_SCHEMA)
  fillSchema(connection)
  connection.close()
  return path
}

test('the newest two copies are kept by their time, whatever their versions; other files stay', (t) => {
  const dataDir = newFolder(t)
  const path = putOld(dataDir)
  const backups = join(dataDir, 'backups')
  mkdirSync(backups)
  for (const name of [
    'before-0.10.0-20260102T000000Z.db',
    'before-0.9.0-20260101T000000Z.db',
    'before-0.9.1-20260103T000000Z.db',
    'before-0.9.1-20260103T000001Z.db-unfinished',
    'of-the-club.db',
  ])
    writeFileSync(join(backups, name), '')
  const { file } = backUpBefore({ dataDir, path, schema: OLD_SCHEMA, atMs: Date.UTC(2026, 0, 4) })
  assert.equal(file, `before-${programVersion()}-20260104T000000Z.db`)
  assert.deepEqual(readdirSync(backups).sort(), ['before-0.9.1-20260103T000000Z.db', file, 'of-the-club.db'].sort())
})

test('without space for the copy the upgrade is refused with the way out, and nothing is changed', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-small-disk-'))
  let started: Store | undefined
  t.after(async () => {
    await started?.stop()
    spawnSync('umount', ['-l', dataDir])
    rmSync(dataDir, { recursive: true, force: true })
  })
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=32m,mode=700', 'tmpfs', dataDir])
  if (mounted.status !== 0) return t.skip('only root may mount')
  const path = putOld(dataDir)
  const options = { dataDir, readerThreads: 1, writeQueueRows: 1000 }
  const store = new Store(options, createLog('silent'))
  await assert.rejects(
    store.start(),
    /not enough space for the backup before the upgrade: .* Free some and start again.*CARTBARN_BACKUP_BEFORE_UPGRADE=false/,
  )
  await store.stop()
  assert.deepEqual(readdirSync(join(dataDir, 'backups')), [])
  assert.equal(readProgramRecord(dataDir), null)
  const reading = openReader(path)
  assert.equal(reading.db.pragma('user_version', { simple: true }), OLD_SCHEMA)
  reading.close()

  started = new Store({ ...options, backsUpBeforeUpgrade: false }, createLog('silent'))
  await started.start()
  assert.equal(readProgramRecord(dataDir)?.backup, null)
})
