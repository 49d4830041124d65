import { test } from 'node:test'
import { runShort } from '../run-short.ts'
import { runBackup } from './backup.ts'

test('a short backup run with active devices yields figures, and the restored data is complete', async (t) => {
  await runShort(t, runBackup)
})
