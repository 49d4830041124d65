import { InvalidArgumentError } from '@commander-js/extra-typings'
import { createCommandLine, parseCommandLine, wholeNumber } from '#scripts/cli/command-line.ts'
import { overviewOf } from '#scripts/rig/figure-tables.ts'
import { runOnWorkbench, type Workbench } from '#scripts/rig/processes.ts'
import { findScenarios, gatewayOption, listOf, recordOption, runInTurn } from '#scripts/rig/run-scenarios.ts'
import type { ScenarioReport } from '#scripts/rig/scenario.ts'
import type { TortureContext, TortureScenario } from './scenario.ts'
import { PROVED, SCENARIOS, TORTURE_TOPIC } from './scenarios.ts'

async function torture(bench: Workbench, argv: readonly string[]): Promise<number> {
  const { scenarios, lists, records, ...context } = parseOptions(argv)
  if (lists) {
    process.stdout.write(`${overviewOf([TORTURE_TOPIC])}\n`)
    return 0
  }
  const run = (scenario: TortureScenario) =>
    scenario.run({ bench, ...context }).catch((error: unknown) => failed(scenario, error))
  return (await runInTurn('torture', scenarios, run, records)) ? 0 : 1
}

/** Turns an error of one scenario into a failed figure, so that the others still run. */
function failed({ name }: TortureScenario, error: unknown): ScenarioReport {
  const reason = error instanceof Error ? error.message : String(error)
  return {
    figures: [{ name: `${name}: ended early`, target: '', reached: reason, passed: false }],
    raw: reason,
  }
}

function parseOptions(
  argv: readonly string[],
): Omit<TortureContext, 'bench'> & { scenarios: readonly TortureScenario[]; lists: boolean; records: boolean } {
  const command = createCommandLine('torture', process)
    .description('Kills and power cuts; the exit code is 1 if anything acknowledged is lost.')
    .addHelpText('after', listOf(SCENARIOS))
    .option('--only <a,b>', 'only these scenarios', (names) => findScenarios(SCENARIOS, names))
    .option('--part <n/m>', 'the n-th of m parts of them, for parts that run in parallel', partOf)
    .option('--cycles <n>', 'kills, or power cuts, of each scenario', wholeNumber(1))
    .option('--seed <n>', 'seed of the faults of sync and damage, to repeat them', wholeNumber(0))
    .option('--short', 'a few of each, in about three minutes')
    .option(
      '--prove',
      'show that the checks can fail: power cuts with a disk that ignores syncs, and sync with a hub that has lost ' +
        'something or stores it twice',
    )
    .addOption(recordOption())
    .option('--list', 'print all scenarios with their last recorded figures')
    .addOption(gatewayOption())
  const given = parseCommandLine(command, argv).opts()
  const { only, part, cycles, seed, short = false, prove = false, list = false, record = false, gateway } = given
  const chosen = only ?? (prove ? PROVED : SCENARIOS)
  return {
    cycles,
    seed,
    entry: gateway,
    isShort: short,
    proves: prove,
    lists: list,
    records: record,
    scenarios: part === undefined ? chosen : chosen.filter((_, i) => i % part.of === part.number - 1),
  }
}

function partOf(text: string): { number: number; of: number } {
  const [number = 0, of = 0] = /^\d+\/\d+$/.test(text) ? text.split('/').map(Number) : []
  if (number < 1 || number > of) throw new InvalidArgumentError('Invalid part; use N/M, for example 1/2 or 2/2.')
  return { number, of }
}

await runOnWorkbench('torture', torture)
