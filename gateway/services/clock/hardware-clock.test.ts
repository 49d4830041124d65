import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { newFolder } from '#testing/backup-sets.ts'
import { hardwareTimesMs } from './hardware-clock.ts'

test('the times of all battery clocks that answer', (t) => {
  const folder = newFolder(t)
  const shown: Record<string, string | null> = { rtc0: '42\n', rtc1: '1777636800\n', rtc2: 'x', rtc3: null }
  for (const [name, text] of Object.entries(shown)) {
    mkdirSync(join(folder, name))
    if (text !== null) writeFileSync(join(folder, name, 'since_epoch'), text)
  }
  assert.deepEqual(hardwareTimesMs(folder), [42_000, 1_777_636_800_000])
  assert.deepEqual(hardwareTimesMs(join(folder, 'none')), [])
})
