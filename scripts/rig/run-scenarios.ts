import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { createCommandLine, parseCommandLine, wholeNumber } from '#scripts/cli/command-line.ts'
import { ENTRY } from '#scripts/cli/start-command.ts'
import type { Value } from './figures.ts'
import type { Workbench } from './processes.ts'
import { addRecords, cleanCommit } from './records.ts'
import { conclude, type Line, printLines, printProgress } from './report.ts'
import type { Scenario, ScenarioContext, ScenarioReport } from './scenario.ts'

/** Runs the scenarios that the arguments name, as `runInTurn` does; `rounds` describes the rounds in the usage text. */
export async function runScenarios(
  name: string,
  known: readonly Scenario[],
  rounds: string,
  bench: Workbench,
  args: readonly string[],
): Promise<boolean> {
  const { scenarios, records, ...options } = parseOptions(name, known, rounds, args)
  return runInTurn(`bench ${name}`, scenarios, (scenario) => scenario.run({ bench, ...options }), records)
}

/**
 * Runs one scenario after the other and writes the results, with `records` also to the file of all figures. Returns
 * true if every target was met.
 */
export async function runInTurn<Context>(
  program: string,
  scenarios: readonly Scenario<Context>[],
  run: (scenario: Scenario<Context>) => Promise<ScenarioReport>,
  records = false,
): Promise<boolean> {
  const commit = records ? cleanCommit() : ''
  const measured = new Map<string, Readonly<Record<string, Value>>>()
  const figures: Line[] = []
  const raw: Record<string, unknown> = {}
  for (const scenario of scenarios) {
    printProgress(`\n${scenario.name}: ${scenario.summary}`)
    const report = await run(scenario)
    printLines(scenario.name, report.figures)
    figures.push(...report.figures)
    raw[scenario.name] = report.raw
    if (report.values !== undefined) measured.set(scenario.name, report.values)
  }
  if (records) addRecords(program, commit, measured)
  return conclude(program.replace(' ', '-'), figures, raw)
}

function parseOptions(
  name: string,
  known: readonly Scenario[],
  rounds: string,
  args: readonly string[],
): Omit<ScenarioContext, 'bench'> & { scenarios: readonly Scenario[]; records: boolean } {
  const command = createCommandLine(`bench ${name}`, process)
    .addHelpText('after', listOf(known))
    .option('--short', 'seconds instead of minutes, fewer devices: checks that it works, not the speed')
    .option('--only <a,b>', 'only these scenarios', (names) => findScenarios(known, names))
    .option('--duration <s>', 'seconds of load of a run', wholeNumber(1))
    .option('--rounds <n>', rounds, wholeNumber(1))
    .addOption(gatewayOption())
    .addOption(recordOption())
    .option('--beside <file>', 'entry of a gateway to compare with in the same run, in scenarios that support it')
  const given = parseCommandLine(command, args).opts()
  return {
    scenarios: given.only ?? known,
    records: given.record ?? false,
    entry: given.gateway,
    beside: given.beside,
    isShort: given.short ?? false,
    durationS: given.duration,
    rounds: given.rounds,
  }
}

/** Options with which a run does not measure what this checkout declares. */
const NOT_RECORDED = ['short', 'gateway', 'beside', 'duration', 'rounds', 'cycles', 'prove']

/** Option to keep the figures of a run. */
export function recordOption() {
  return new Option('--record', 'add the figures to docs/figures.jsonl, for npm run check -- --figures').conflicts(
    NOT_RECORDED,
  )
}

/** Option for the gateway to start: this one, or another to compare with. */
export function gatewayOption() {
  return new Option('--gateway <file>', 'the gateway: cartbarn.ts of a checkout, or an executable').default(
    ENTRY,
    'this checkout',
  )
}

/** Page of names and descriptions, printed after the options. */
export function listOf(known: readonly { name: string; summary: string }[]): string {
  return `\nScenarios:\n${known.map(({ name, summary }) => `  ${name.padEnd(12)}${summary}`).join('\n')}`
}

/** Parses names separated by commas. */
export function findScenarios<Context>(
  known: readonly Scenario<Context>[],
  names: string,
): readonly Scenario<Context>[] {
  return names.split(',').map((name) => {
    const scenario = known.find((each) => each.name === name)
    if (scenario === undefined) throw new InvalidArgumentError(`There is no scenario ${name}.`)
    return scenario
  })
}
