import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { Workbench } from '#scripts/rig/processes.ts'
import type { Line } from '#scripts/rig/report.ts'
import type { Scenario } from '#scripts/rig/scenario.ts'
import { scenariosOf } from './benchmarks.ts'

/** Limit for several processes, started one after the other on a machine that may be busy. */
const TEST_LIMIT = { timeout: 300_000 }

/** Tests the short form of a topic's scenarios, also by `check`; that of `long` only if CARTBARN_TEST_LONG is set. */
export function testShort(
  topic: string,
  { only, long = [], check }: { only?: string[]; long?: string[]; check?: (figures: readonly Line[]) => void } = {},
): void {
  for (const { name, run } of scenariosOf(topic)) {
    if (only?.includes(name) === false) continue
    if (long.includes(name) && process.env.CARTBARN_TEST_LONG === undefined) continue
    test(`a short run of ${topic} ${name} loses and refuses nothing`, TEST_LIMIT, async (t) => {
      const figures = await runShort(t, run)
      check?.(figures)
    })
  }
}

/** Runs the short form of a scenario, of which no target may be missed. Returns its figures. */
export async function runShort(t: TestContext, run: Scenario['run']): Promise<readonly Line[]> {
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
