import { parseArgs } from 'node:util'
import type { Workbench } from './processes.ts'
import { conclude, type Figure, printProgress, type ScenarioReport } from './report.ts'
import type { Scenario, ScenarioContext } from './scenario.ts'

/** How to call a benchmark; `rounds` says what its rounds are. */
export function describeUsage(name: string, scenarios: readonly Scenario[], rounds: string): string {
  return `npm run bench ${name} -- [options]

${scenarios.map((scenario) => `  ${scenario.name.padEnd(12)}${scenario.summary}`).join('\n')}

  --short          seconds instead of minutes, fewer devices: does it work, not how fast
  --only a,b       only these scenarios
  --duration n     seconds of load of a run
  --rounds n       ${rounds}
  --gateway file   gateway program to measure (default: gateway/main.ts)
`
}

/** Runs the scenarios the arguments ask for and writes their results. Returns whether every target was met. */
export async function runScenarios(
  name: string,
  known: readonly Scenario[],
  bench: Workbench,
  args: string[],
): Promise<boolean> {
  const { scenarios, ...options } = parseOptions(known, args)
  return runInTurn(name, scenarios, (scenario) => scenario.run({ bench, ...options }))
}

/** Runs one scenario after the other and writes what came of them; returns whether every target was met. */
export async function runInTurn<Context>(
  program: string,
  scenarios: readonly Scenario<Context>[],
  run: (scenario: Scenario<Context>) => Promise<ScenarioReport>,
): Promise<boolean> {
  const figures: Figure[] = []
  const raw: Record<string, unknown> = {}
  for (const scenario of scenarios) {
    printProgress(`\n${scenario.name}: ${scenario.summary}`)
    const report = await run(scenario)
    figures.push(...report.figures)
    raw[scenario.name] = report.raw
  }
  return conclude(program, figures, raw)
}

function parseOptions(
  known: readonly Scenario[],
  args: string[],
): Omit<ScenarioContext, 'bench'> & { scenarios: readonly Scenario[] } {
  const { values } = parseArgs({
    args,
    options: {
      short: { type: 'boolean', default: false },
      only: { type: 'string' },
      duration: { type: 'string' },
      rounds: { type: 'string' },
      gateway: { type: 'string', default: 'gateway/main.ts' },
    },
  })
  return {
    scenarios: chooseScenarios(known, values.only),
    entry: values.gateway,
    isShort: values.short,
    durationS: parsePositive('duration', values.duration),
    rounds: parsePositive('rounds', values.rounds),
  }
}

/** The scenarios named in a list with commas; all without one. Throws on a name that none has. */
export function chooseScenarios<Context>(
  known: readonly Scenario<Context>[],
  names: string | undefined,
): readonly Scenario<Context>[] {
  if (names === undefined) return known
  return names.split(',').map((name) => {
    const scenario = known.find((each) => each.name === name)
    if (scenario === undefined) throw new Error(`no scenario ${name}`)
    return scenario
  })
}

function parsePositive(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number`)
  return value
}
