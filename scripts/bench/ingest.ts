import { parseArgs } from 'node:util'
import { kill } from './kill.ts'
import { memory } from './memory.ts'
import { type Figure, printProgress, printSummary, writeResults } from './report.ts'
import { saturation } from './saturation.ts'
import type { Scenario, ScenarioContext } from './scenario.ts'
import { steady } from './steady.ts'
import type { Workbench } from './workbench.ts'

const SCENARIOS: readonly Scenario[] = [steady, saturation, kill, memory]

/** How to call the benchmark. */
export const ingestUsage = `npm run bench ingest -- [options]

${SCENARIOS.map(({ name, summary }) => `  ${name.padEnd(12)}${summary}`).join('\n')}

  --short          seconds instead of minutes, fewer devices: does it work, not how fast
  --only a,b       only these scenarios
  --duration n     seconds of load of a run
  --rounds n       rounds of saturation, number of kills
  --gateway file   gateway program to measure (default: gateway/main.ts)
`

/** Measures the way of a message from the device to the disk. Returns whether every target was met. */
export async function runIngest(bench: Workbench, args: string[]): Promise<boolean> {
  const { scenarios, ...options } = parseOptions(args)
  const figures: Figure[] = []
  const raw: Record<string, unknown> = {}
  for (const scenario of scenarios) {
    printProgress(`\n${scenario.name}: ${scenario.summary}`)
    const report = await scenario.run({ bench, ...options })
    figures.push(...report.figures)
    raw[scenario.name] = report.raw
  }
  printSummary(figures)
  const path = writeResults('ingest', { takenAt: new Date().toISOString(), figures, raw })
  printProgress(`\nresults in ${path}`)
  return figures.every((figure) => figure.passed !== false)
}

function parseOptions(args: string[]): Omit<ScenarioContext, 'bench'> & { scenarios: Scenario[] } {
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
    scenarios: values.only === undefined ? [...SCENARIOS] : values.only.split(',').map(findScenario),
    entry: values.gateway,
    isShort: values.short,
    durationS: parsePositive('duration', values.duration),
    rounds: parsePositive('rounds', values.rounds),
  }
}

function findScenario(name: string): Scenario {
  const scenario = SCENARIOS.find((each) => each.name === name)
  if (scenario === undefined) throw new Error(`no scenario ${name}`)
  return scenario
}

function parsePositive(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number`)
  return value
}
