import { EXIT } from '#scripts/cli/command.ts'
import { createCommandLine, parseCommandLine } from '#scripts/cli/command-line.ts'
import { runOnWorkbench } from '#scripts/rig/processes.ts'
import { runScenarios } from '#scripts/rig/run-scenarios.ts'
import { api } from './api/scenarios.ts'
import { backup } from './backup/scenarios.ts'
import { broker } from './broker/scenarios.ts'
import { dashboard } from './dashboard/scenarios.ts'
import { disk } from './disk/scenarios.ts'
import { runBlocks } from './history/blocks.ts'
import { history } from './history/scenarios.ts'
import { ingest } from './ingest/scenarios.ts'
import { neighbours } from './neighbours/scenarios.ts'
import { realtime } from './realtime/scenarios.ts'
import { reports } from './reports/scenarios.ts'
import { staff } from './staff/scenarios.ts'
import { start } from './start/scenarios.ts'
import { sync } from './sync/scenarios.ts'

const BENCHMARKS = [
  ingest,
  broker,
  api,
  history,
  reports,
  neighbours,
  realtime,
  disk,
  backup,
  sync,
  staff,
  dashboard,
  start,
] as const

await runOnWorkbench('bench', async (bench, argv) => {
  const [name, ...rest] = argv
  const chosen = BENCHMARKS.find((each) => each.name === name)
  if (name === 'blocks') return (await runBlocks(bench, rest)) ? EXIT.ok : EXIT.failed
  if (chosen !== undefined)
    return (await runScenarios(chosen.name, chosen.scenarios, chosen.rounds, bench, rest)) ? EXIT.ok : EXIT.failed
  const command = createCommandLine('bench', process).addHelpText(
    'after',
    '\nnpm run bench BENCHMARK -- --help prints the options of a benchmark.',
  )
  for (const each of BENCHMARKS) command.command(each.name).description(each.summary)
  command.command('blocks').description('telemetry blocks: bytes, encoding, decoding')
  parseCommandLine(command, argv.length === 0 ? ['--help'] : argv)
  return EXIT.ok
})
