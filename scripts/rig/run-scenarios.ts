import { parseArgs } from 'node:util'
import type { Workbench } from './processes.ts'
import { type Figure, printProgress, printSummary, writeResults } from './report.ts'
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
  const figures: Figure[] = []
  const raw: Record<string, unknown> = {}
  for (const scenario of scenarios) {
    printProgress(`\n${scenario.name}: ${scenario.summary}`)
    const report = await scenario.run({ bench, ...options })
    figures.push(...report.figures)
    raw[scenario.name] = report.raw
  }
  printSummary(figures)
  const path = writeResults(name, { takenAt: new Date().toISOString(), figures, raw })
  printProgress(`\nresults in ${path}`)
  return figures.every((figure) => figure.passed !== false)
}

function parseOptions(
  known: readonly Scenario[],
  args: string[],
): Omit<ScenarioContext, 'bench'> & { scenarios: Scenario[] } {
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
    scenarios:
      values.only === undefined
        ? [...known]
        : values.only.split(',').map((name) => findScenario(known, name)),
    entry: values.gateway,
    isShort: values.short,
    durationS: parsePositive('duration', values.duration),
    rounds: parsePositive('rounds', values.rounds),
  }
}

function findScenario(known: readonly Scenario[], name: string): Scenario {
  const scenario = known.find((each) => each.name === name)
  if (scenario === undefined) throw new Error(`no scenario ${name}`)
  return scenario
}

function parsePositive(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number`)
  return value
}
