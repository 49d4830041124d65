import { parseArgs } from 'node:util'
import { runOnWorkbench, type Workbench } from '#scripts/rig/processes.ts'
import type { ScenarioReport } from '#scripts/rig/report.ts'
import { chooseScenarios, runInTurn } from '#scripts/rig/run-scenarios.ts'
import { history } from './history/history.ts'
import { kill } from './kill.ts'
import { power } from './power.ts'
import type { TortureContext, TortureScenario } from './scenario.ts'
import { sessions } from './sessions/sessions.ts'
import { sync } from './sync/sync.ts'

const SCENARIOS: readonly TortureScenario[] = [kill, power, sessions, history, sync]

const HELP = `npm run torture -- [options]: kills and power cuts; exit code 1 when anything acknowledged is gone

${SCENARIOS.map(({ name, summary }) => `  ${name.padEnd(10)}${summary}`).join('\n')}

  --only a,b       only these scenarios
  --cycles n       kills, or power cuts, of each scenario
  --seed n         of the faults of sync: the same seed, the same faults
  --short          a few of each, in about a minute and a half
  --prove          show that power cuts can be failed: the same with a disk that ignores syncs; and sync, with a hub
                   that has lost something, or has it twice
  --gateway file   gateway program to torture (default: gateway/main.ts)
`

async function main(bench: Workbench): Promise<number> {
  const options = parseOptions()
  if (options === null) return 0
  const { scenarios, ...context } = options
  const run = (scenario: TortureScenario) =>
    scenario.run({ bench, ...context }).catch((error: unknown) => failed(scenario, error))
  return (await runInTurn('torture', scenarios, run)) ? 0 : 1
}

/** What the other scenarios find is still worth knowing. */
function failed({ name }: TortureScenario, error: unknown): ScenarioReport {
  const reason = error instanceof Error ? error.message : String(error)
  return {
    figures: [{ name: `${name}: ended early`, target: '', reached: reason, passed: false }],
    raw: reason,
  }
}

function parseOptions(): (Omit<TortureContext, 'bench'> & { scenarios: readonly TortureScenario[] }) | null {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      cycles: { type: 'string' },
      seed: { type: 'string' },
      short: { type: 'boolean', default: false },
      prove: { type: 'boolean', default: false },
      gateway: { type: 'string', default: 'gateway/main.ts' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(HELP)
    return null
  }
  const cycles = values.cycles === undefined ? undefined : Number(values.cycles)
  if (cycles !== undefined && !(Number.isInteger(cycles) && cycles >= 1)) {
    throw new Error('--cycles must be a whole number')
  }
  const seed = values.seed === undefined ? undefined : Number(values.seed)
  if (seed !== undefined && !Number.isInteger(seed)) throw new Error('--seed must be a whole number')
  const all = values.prove ? [power, sync] : SCENARIOS
  return {
    scenarios: chooseScenarios(values.only === undefined ? all : SCENARIOS, values.only),
    entry: values.gateway,
    isShort: values.short,
    cycles,
    seed,
    proves: values.prove,
  }
}

runOnWorkbench(main)
