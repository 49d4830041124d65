import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runShort } from '../run-short.ts'
import { runBareDisk, runBusyDisk } from './disk.ts'

for (const [name, run] of Object.entries({ bare: runBareDisk, everything: runBusyDisk })) {
  test(`the short disk run "${name}" measures writes, and all messages are acknowledged and delivered`, async (t) => {
    const figures = await runShort(t, run)
    const written = figures.find(({ name: figure }) => figure === `disk, ${name}: bytes of the process`)
    assert.ok(Number.parseFloat(written?.reached ?? '') > 0)
  })
}
