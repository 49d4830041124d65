import { test } from 'node:test'
import { lookShortly } from '../short-look.ts'
import { runBackup } from './backup.ts'

test('a short backup run with active devices yields figures, and the restored data is complete', async (t) => {
  await lookShortly(t, runBackup)
})
