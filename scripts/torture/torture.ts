import { InvalidArgumentError } from '@commander-js/extra-typings'
import { createCommandLine, parseCommandLine, wholeNumber } from '#scripts/cli/command-line.ts'
import { runOnWorkbench, type Workbench } from '#scripts/rig/processes.ts'
import type { ScenarioReport } from '#scripts/rig/report.ts'
import { findScenarios, gatewayOption, listOf, runInTurn } from '#scripts/rig/run-scenarios.ts'
import { clocks } from './clocks/clocks.ts'
import { damage } from './damage/damage.ts'
import { log } from './damage/log-check.ts'
import { history } from './history/history.ts'
import { kill } from './kill.ts'
import { neighbours } from './neighbours/neighbours.ts'
import { power } from './power.ts'
import type { TortureContext, TortureScenario } from './scenario.ts'
import { starts } from './starts.ts'
import { restores } from './sync/restores.ts'
import { sync } from './sync/sync.ts'

const SCENARIOS: readonly TortureScenario[] = [
  kill,
  power,
  history,
  sync,
  restores,
  starts,
  log,
  clocks,
  damage,
  neighbours,
]

async function torture(bench: Workbench, argv: readonly string[]): Promise<number> {
  const { scenarios, ...context } = parseOptions(argv)
  const run = (scenario: TortureScenario) =>
    scenario.run({ bench, ...context }).catch((error: unknown) => failed(scenario, error))
  return (await runInTurn('torture', scenarios, run)) ? 0 : 1
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
): Omit<TortureContext, 'bench'> & { scenarios: readonly TortureScenario[] } {
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
    .addOption(gatewayOption())
  const given = parseCommandLine(command, argv).opts()
  const { only, part, cycles, seed, short = false, prove = false, gateway } = given
  const chosen = only ?? (prove ? [power, sync] : SCENARIOS)
  return {
    cycles,
    seed,
    entry: gateway,
    isShort: short,
    proves: prove,
    scenarios: part === undefined ? chosen : chosen.filter((_, i) => i % part.of === part.number - 1),
  }
}

function partOf(text: string): { number: number; of: number } {
  const [number = 0, of = 0] = /^\d+\/\d+$/.test(text) ? text.split('/').map(Number) : []
  if (number < 1 || number > of) throw new InvalidArgumentError('Invalid part; use N/M, for example 1/2 or 2/2.')
  return { number, of }
}

await runOnWorkbench('torture', torture)
