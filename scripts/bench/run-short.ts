import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { Workbench } from '#scripts/rig/processes.ts'
import type { Figure } from '#scripts/rig/report.ts'
import type { Scenario } from '#scripts/rig/scenario.ts'

/** Runs a scenario's short form, which checks losses and refusals; no target may be missed. Returns its figures. */
export async function runShort(t: TestContext, run: Scenario['run']): Promise<readonly Figure[]> {
  const bench = new Workbench()
  t.after(() => bench.clear())
  const context = { bench, entry: ENTRY, isShort: true, durationS: undefined, rounds: undefined }
  const { figures } = await run(context)
  assert.ok(figures.length > 0)
  assert.deepEqual(
    figures.filter(({ passed }) => passed === false),
    [],
  )
  return figures
}
