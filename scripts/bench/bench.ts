import { EXIT } from '#scripts/cli/command.ts'
import { createCommandLine, parseCommandLine } from '#scripts/cli/command-line.ts'
import { runOnWorkbench, type Workbench } from '#scripts/rig/processes.ts'
import { runScenarios } from '#scripts/rig/run-scenarios.ts'
import type { Scenario } from '#scripts/rig/scenario.ts'
import { counts } from './api/counts.ts'
import { downloads } from './api/downloads.ts'
import { requests } from './api/requests.ts'
import { idle } from './broker/idle.ts'
import { neighbours } from './broker/neighbours.ts'
import { soak } from './broker/soak.ts'
import { storm } from './broker/storm.ts'
import { runBlocks } from './history/blocks.ts'
import { createHistoryScenarios } from './history/history.ts'
import { kill } from './ingest/kill.ts'
import { memory } from './ingest/memory.ts'
import { saturation } from './ingest/saturation.ts'
import { steady } from './ingest/steady.ts'
import { drain } from './sync/drain.ts'
import { lag } from './sync/lag.ts'
import { sites } from './sync/sites.ts'

interface Benchmark {
  name: string
  summary: string
  /** Returns whether every target was met. */
  run(bench: Workbench, args: readonly string[]): Promise<boolean>
}

/** A benchmark of scenarios; `rounds` says what the rounds of its command line are. */
function benchmark(name: string, summary: string, rounds: string, scenarios: readonly Scenario[]): Benchmark {
  return {
    ...{ name, summary },
    run: (bench, args) => runScenarios(name, scenarios, rounds, bench, args),
  }
}

const BENCHMARKS: readonly Benchmark[] = [
  benchmark(
    'ingest',
    'from the device to the disk: latency, throughput, loss, memory',
    'rounds of saturation, number of kills',
    [steady, saturation, kill, memory],
  ),
  benchmark(
    'broker',
    'many clients: memory, reconnect storms, bad neighbours, hours of work',
    'storms of a kind, pairs of alone and beside',
    [idle, storm, neighbours, soak],
  ),
  benchmark(
    'api',
    'HTTP: requests a second, counts and downloads of a long history',
    'runs of each kind, alternating',
    [requests, counts, downloads],
  ),
  benchmark(
    'history',
    'long histories: bytes on the disk, trips, sealing',
    'runs of each measurement',
    createHistoryScenarios(),
  ),
  benchmark('sync', 'replication to a head office: lag, drain, bytes, many sites', 'drains', [
    lag,
    drain,
    sites,
  ]),
  {
    name: 'blocks',
    summary: 'telemetry blocks: bytes, encoding, decoding',
    run: runBlocks,
  },
]

await runOnWorkbench('bench', async (bench, argv) => {
  const [name, ...rest] = argv
  const chosen = BENCHMARKS.find((each) => each.name === name)
  if (chosen !== undefined) return (await chosen.run(bench, rest)) ? EXIT.ok : EXIT.failed
  const command = createCommandLine('bench', process).addHelpText(
    'after',
    '\nnpm run bench BENCHMARK -- --help prints the options of a benchmark.',
  )
  for (const each of BENCHMARKS) command.command(each.name).description(each.summary)
  parseCommandLine(command, argv.length === 0 ? ['--help'] : argv)
  return EXIT.ok
})
