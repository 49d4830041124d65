import { Workbench } from '#scripts/rig/processes.ts'
import { apiUsage, runApi } from './api/api.ts'
import { brokerUsage, runBroker } from './broker/broker.ts'
import { blocksUsage, runBlocks } from './history/blocks.ts'
import { historyUsage, runHistory } from './history/history.ts'
import { ingestUsage, runIngest } from './ingest/ingest.ts'
import { runSync, syncUsage } from './sync/sync.ts'

interface Benchmark {
  name: string
  summary: string
  usage: string
  run(bench: Workbench, args: string[]): Promise<boolean>
}

const BENCHMARKS: readonly Benchmark[] = [
  {
    name: 'ingest',
    summary: 'from the device to the disk: latency, throughput, loss, memory',
    usage: ingestUsage,
    run: runIngest,
  },
  {
    name: 'broker',
    summary: 'many clients: memory, reconnect storms, bad neighbours, hours of work',
    usage: brokerUsage,
    run: runBroker,
  },
  {
    name: 'api',
    summary: 'HTTP: requests a second, counts and downloads of a long history',
    usage: apiUsage,
    run: runApi,
  },
  {
    name: 'history',
    summary: 'long histories: bytes on the disk, trips, sealing',
    usage: historyUsage,
    run: runHistory,
  },
  {
    name: 'sync',
    summary: 'replication to a head office: lag, drain, bytes, many sites',
    usage: syncUsage,
    run: runSync,
  },
  {
    name: 'blocks',
    summary: 'telemetry blocks: bytes, encoding, decoding',
    usage: blocksUsage,
    run: runBlocks,
  },
]

const HELP = `npm run bench <benchmark> -- [options]

${BENCHMARKS.map(({ name, summary }) => `  ${name.padEnd(10)}${summary}`).join('\n')}

npm run bench <benchmark> -- --help shows its options.
`

const INTERRUPTED = 130

async function main(args: string[]): Promise<number> {
  const [name, ...rest] = args
  const benchmark = BENCHMARKS.find((each) => each.name === name)
  if (benchmark === undefined) {
    const isHelp = name === undefined || name === '--help'
    process.stdout.write(isHelp ? HELP : `no benchmark ${name}\n\n${HELP}`)
    return isHelp ? 0 : 2
  }
  if (rest.includes('--help')) {
    process.stdout.write(benchmark.usage)
    return 0
  }
  return (await benchmark.run(bench, rest)) ? 0 : 1
}

const bench = new Workbench()
// However it ends, no broker is left running and no folder full of samples.
process.on('exit', () => bench.clear())
process.on('SIGINT', () => process.exit(INTERRUPTED))
process.on('SIGTERM', () => process.exit(INTERRUPTED))
main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(1)
  },
)
