import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { hardwareTimesMs } from './hardware-clock.ts'

test('the times of all battery clocks that answer', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-rtc-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const shown: Record<string, string | null> = { rtc0: '42\n', rtc1: '1777636800\n', rtc2: 'x', rtc3: null }
  for (const [name, text] of Object.entries(shown)) {
    mkdirSync(join(folder, name))
    if (text !== null) writeFileSync(join(folder, name, 'since_epoch'), text)
  }
  assert.deepEqual(hardwareTimesMs(folder), [42_000, 1_777_636_800_000])
  assert.deepEqual(hardwareTimesMs(join(folder, 'none')), [])
})
