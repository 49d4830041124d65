import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { HOUR_MS, toIso } from '#shared/time.ts'
import { startFor } from '#testing/start-gateway.ts'

test('/health shows nightly backups to admins, and omits them without a target', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-health-'))
  const dataDir = join(folder, 'data')
  const target = join(folder, 'stick')
  const g = await startFor(t)
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  assert.equal('backup' in (await g.get('/health')).body, false)
  mkdirSync(dataDir, { mode: 0o700 })
  const lastGoodMs = Date.now() - HOUR_MS
  writeFileSync(
    join(dataDir, 'backups.json'),
    JSON.stringify({ target: `${target}/`, sinceMs: lastGoodMs, lastGoodMs }),
  )
  const own = await startFor(t, {
    CARTBARN_DATA_DIR: dataDir,
    CARTBARN_BACKUP_TO: target,
    CARTBARN_BACKUP_PASSPHRASE: 'the nineteenth hole',
  })
  assert.deepEqual((await own.get('/health')).body.backup, { last_good_at: toIso(lastGoodMs), overdue: false })
  assert.equal('backup' in (await own.get('/health', { key: null })).body, false)
})
