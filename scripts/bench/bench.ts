import { EXIT } from '#scripts/cli/command.ts'
import { createCommandLine, parseCommandLine } from '#scripts/cli/command-line.ts'
import { overviewOf } from '#scripts/rig/figure-tables.ts'
import { runOnWorkbench } from '#scripts/rig/processes.ts'
import { runScenarios } from '#scripts/rig/run-scenarios.ts'
import { BENCH_TOPICS, BENCHMARKS } from './benchmarks.ts'

await runOnWorkbench('bench', async (bench, argv) => {
  const [name, ...rest] = argv
  const chosen = BENCHMARKS.find((each) => each.name === name)
  if (chosen !== undefined)
    return (await runScenarios(chosen.name, chosen.scenarios, chosen.rounds, bench, rest)) ? EXIT.ok : EXIT.failed
  const command = createCommandLine('bench', process)
    .addHelpText('after', '\nnpm run bench BENCHMARK -- --help prints the options of a benchmark.')
    .option('--list', 'print all scenarios with their last recorded figures')
  for (const each of BENCHMARKS) command.command(each.name).description(each.summary)
  if (name === '--list') process.stdout.write(`${overviewOf(BENCH_TOPICS)}\n`)
  else parseCommandLine(command, argv.length === 0 ? ['--help'] : argv)
  return EXIT.ok
})
