import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { Workbench } from '#scripts/rig/processes.ts'
import type { Line } from '#scripts/rig/report.ts'
import type { Scenario } from '#scripts/rig/scenario.ts'
import type { Benchmark } from './benchmark.ts'

/** Limit for several processes, started one after the other on a machine that may be busy. */
const TEST_LIMIT = { timeout: 300_000 }

/** Tests the short form of each scenario, also by `check`; that of `long` only if CARTBARN_TEST_LONG is set. */
export function testShort(
  { name, scenarios }: Benchmark,
  long: readonly string[] = [],
  check: (figures: readonly Line[]) => void = () => undefined,
): void {
  for (const scenario of scenarios) {
    if (long.includes(scenario.name) && process.env.CARTBARN_TEST_LONG === undefined) continue
    test(`a short run of ${name} ${scenario.name} loses and refuses nothing`, TEST_LIMIT, async (t) => {
      check(await runShort(t, scenario.run))
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
