import { parseArgs } from 'node:util'
import { Workbench } from '#scripts/rig/processes.ts'
import {
  type Figure,
  printProgress,
  printSummary,
  type ScenarioReport,
  writeResults,
} from '#scripts/rig/report.ts'
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

const INTERRUPTED = 130

async function main(bench: Workbench): Promise<number> {
  const options = parseOptions()
  if (options === null) return 0
  const { scenarios, ...context } = options
  const figures: Figure[] = []
  const raw: Record<string, unknown> = {}
  for (const scenario of scenarios) {
    printProgress(`\n${scenario.name}: ${scenario.summary}`)
    const report = await scenario
      .run({ bench, ...context })
      .catch((error: unknown) => failed(scenario, error))
    figures.push(...report.figures)
    raw[scenario.name] = report.raw
  }
  printSummary(figures)
  const path = writeResults('torture', { takenAt: new Date().toISOString(), figures, raw })
  printProgress(`\nresults in ${path}`)
  return figures.every((figure) => figure.passed !== false) ? 0 : 1
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
    scenarios: values.only === undefined ? all : values.only.split(',').map(findScenario),
    entry: values.gateway,
    isShort: values.short,
    cycles,
    seed,
    proves: values.prove,
  }
}

function findScenario(name: string): TortureScenario {
  const scenario = SCENARIOS.find((each) => each.name === name)
  if (scenario === undefined) throw new Error(`no scenario ${name}`)
  return scenario
}

const workbench = new Workbench()
// However it ends, no gateway is left running and no folder full of samples.
process.on('exit', () => workbench.clear())
process.on('SIGINT', () => process.exit(INTERRUPTED))
process.on('SIGTERM', () => process.exit(INTERRUPTED))
main(workbench).then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(1)
  },
)
