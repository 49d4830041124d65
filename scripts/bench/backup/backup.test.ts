import { test } from 'node:test'
import { lookShortly } from '../short-look.ts'
import { runBackup } from './backup.ts'

test('a short look at a backup beside devices gives figures, and what is restored is what was there', async (t) => {
  await lookShortly(t, runBackup)
})
