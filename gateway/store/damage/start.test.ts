import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLog } from '#shared/log.ts'
import { damagePage, pageOf } from '#testing/damage/page-damage.ts'
import { databasePath } from '../db/files.ts'
import { Store } from '../store.ts'

const storeIn = (dataDir: string) => new Store({ dataDir, readerThreads: 1, writeQueueRows: 1000 }, createLog('silent'))

test('damage in the schema itself ends the start with a sentence that names the repair', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-schema-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  const first = storeIn(dataDir)
  await first.start()
  await first.stop()
  const path = databasePath(dataDir)
  damagePage(path, pageOf(path, 'sqlite_schema'), 'noise')
  const store = storeIn(dataDir)
  await assert.rejects(store.start(), /cannot be used: .*; npm run repair creates a new one from all readable data/)
  await store.stop()
})
