import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { Workbench } from '#scripts/rig/processes.ts'
import { runDownloads } from './downloads.ts'
import { runRequests } from './requests.ts'

for (const [name, run] of Object.entries({ requests: runRequests, downloads: runDownloads })) {
  test(`a short look at ${name} gives figures, and nothing is lost or refused`, async (t) => {
    const bench = new Workbench()
    t.after(() => bench.clear())
    const { figures } = await run({
      bench,
      entry: ENTRY,
      isShort: true,
      durationS: undefined,
      rounds: undefined,
    })
    assert.ok(figures.length > 0)
    assert.deepEqual(
      figures.filter(({ passed }) => passed === false),
      [],
    )
  })
}
