import { EXIT } from '#scripts/cli/command.ts'
import { createCommandLine, parseCommandLine } from '#scripts/cli/command-line.ts'
import { runOnWorkbench, type Workbench } from '#scripts/rig/processes.ts'
import { runScenarios } from '#scripts/rig/run-scenarios.ts'
import type { Scenario } from '#scripts/rig/scenario.ts'
import { runCounts } from './api/counts.ts'
import { runDownloads } from './api/downloads.ts'
import { runRequests } from './api/requests.ts'
import { runBackup } from './backup/backup.ts'
import { runIdle } from './broker/idle.ts'
import { runNeighbours } from './broker/neighbours.ts'
import { runSoak } from './broker/soak.ts'
import { runStorm } from './broker/storm.ts'
import { DASHBOARD } from './dashboard/scenarios.ts'
import { runBareDisk, runBusyDisk } from './disk/disk.ts'
import { runBlocks } from './history/blocks.ts'
import { createHistoryScenarios } from './history/history.ts'
import { runKill } from './ingest/kill.ts'
import { runMemory } from './ingest/memory.ts'
import { runPeers } from './ingest/peers/peers.ts'
import { runSaturation } from './ingest/saturation.ts'
import { runSteady } from './ingest/steady.ts'
import { createNeighbourScenarios } from './neighbours/neighbours.ts'
import { runEverything, runNamed } from './realtime/fan-out.ts'
import { createReportScenarios } from './reports/reports.ts'
import { runAlerts } from './staff/alerts.ts'
import { runHeartbeat } from './staff/heartbeat.ts'
import { runIngest } from './staff/ingest.ts'
import { runList } from './staff/list.ts'
import { runOrders } from './staff/orders.ts'
import { runRounds } from './staff/rounds.ts'
import { runTabletsReturn } from './staff/tablets-return.ts'
import { createStartScenarios } from './start/start.ts'
import { runDrain } from './sync/drain.ts'
import { runLag } from './sync/lag.ts'
import { runSites } from './sync/sites.ts'

interface Benchmark {
  name: string
  summary: string
  /** Returns true if every target was met. */
  run(bench: Workbench, args: readonly string[]): Promise<boolean>
}

/** Creates a benchmark of scenarios; `rounds` describes the rounds on its command line. */
function benchmark(name: string, summary: string, rounds: string, scenarios: readonly Scenario[]): Benchmark {
  return {
    name,
    summary,
    run: (bench, args) => runScenarios(name, scenarios, rounds, bench, args),
  }
}

function scenario(name: string, summary: string, run: Scenario['run']): Scenario {
  return { name, summary, run }
}

const INGEST: readonly Scenario[] = [
  scenario('steady', '200 devices at 1 message a second, 20 realtime sockets', runSteady),
  scenario(
    'saturation',
    'at full speed: 50 and 500 clients, compared with Mosquitto, with 10 ms fsyncs',
    runSaturation,
  ),
  scenario('peers', 'compared with Mosquitto alone, with a subscriber and SQLite, and with PostgreSQL', runPeers),
  scenario('kill', 'kill -9 at random moments; every acknowledged sample must be there, once', runKill),
  scenario('memory', '1,000 connected devices with will and subscriptions, a message every 10 s', runMemory),
]
const BROKER: readonly Scenario[] = [
  scenario('idle', '5,000 idle clients: resident memory of each', runIdle),
  scenario('storm', '2,000 kept sessions with last wills are cut and reconnect, all together', runStorm),
  scenario('neighbours', '200 devices at 1 message a second, with each kind of noisy client', runNeighbours),
  scenario('soak', '500 messages a second of every kind for an hour: memory must not grow', runSoak),
]
const API: readonly Scenario[] = [
  scenario(
    'requests',
    'two reads with 500 devices, compared with a bare Hono server with the same responses',
    runRequests,
  ),
  scenario('counts', 'statistics over ten million records, one request after the other', runCounts),
  scenario('downloads', 'a whole history in each format: memory, and 200 devices meanwhile', runDownloads),
]
const REALTIME: readonly Scenario[] = [
  scenario('everything', '500 sockets on everything, 1,000 messages a second', runEverything),
  scenario('named', 'the same, with sockets that name every device', runNamed),
]
const BACKUP: readonly Scenario[] = [
  scenario('first', 'a first backup of a year of 200 carts while they publish; restored and compared', runBackup),
]
const DISK: readonly Scenario[] = [
  scenario('bare', '200 devices at 1 message a second, and nothing else', runBareDisk),
  scenario('everything', 'the same with zones, 20 realtime sockets and a hub', runBusyDisk),
]
const SYNC: readonly Scenario[] = [
  scenario('lag', '200 devices x 1/s: from the device to the hub, bytes a row', runLag),
  scenario('drain', 'ten days of backlog: the map first, then the rest; devices meanwhile', runDrain),
  scenario('sites', '200 simulated sites on one hub', runSites),
]
const STAFF: readonly Scenario[] = [
  scenario('heartbeat', 'cost of carts, alerts and auto-lock, per device and second', runHeartbeat),
  scenario('ingest', 'at full speed with all of that, compared with a gateway without', runIngest),
  scenario('list', 'GET /carts of 500 carts, compared with a bare server that compresses the same', runList),
  scenario('orders', '500 carts are locked, 200 screens are recalled, with one request each', runOrders),
  scenario('rounds', 'rounds of a day of 200 carts, and rounds in progress, under device load', runRounds),
  scenario('tablets', '40 tablets of one user reconnect after a restart', runTabletsReturn),
  scenario('alerts', '500 alerts together, 20 webhooks and notifiers, half of which hang', runAlerts),
]

const BENCHMARKS: readonly Benchmark[] = [
  benchmark(
    'ingest',
    'from the device to the disk: latency, throughput, loss, memory',
    'rounds of saturation, number of kills',
    INGEST,
  ),
  benchmark(
    'broker',
    'many clients: memory, reconnect storms, noisy clients, hours of work',
    'storms of each kind, pairs of measurements alone and disturbed',
    BROKER,
  ),
  benchmark(
    'api',
    'HTTP: requests a second, counts and downloads of a long history',
    'runs of each kind, alternating',
    API,
  ),
  benchmark(
    'history',
    'long histories: bytes on the disk, trips, sealing',
    'runs of each measurement',
    createHistoryScenarios(),
  ),
  benchmark(
    'reports',
    'reports of a course of 200 carts: traffic, silences, utilisation, batteries',
    'runs of each report',
    createReportScenarios(),
  ),
  benchmark(
    'neighbours',
    'one careless or hostile client, and its effect on all others',
    'runs of each row',
    createNeighbourScenarios(),
  ),
  benchmark('realtime', 'many readers of /realtime: delivery, CPU, effect on devices', 'not used', REALTIME),
  benchmark('disk', 'bytes written to the disk, and life of an SD card', 'without effect', DISK),
  benchmark('backup', 'a backup while devices publish: PUBACK, and its restore', 'backups', BACKUP),
  benchmark('sync', 'replication to a hub: lag, drain, bytes, many sites', 'drains', SYNC),
  benchmark('staff', 'carts, locks, alerts: cost and latency', 'runs of each', STAFF),
  benchmark('dashboard', 'the app in Chromium: bytes, CPU, frames, memory, connection', 'runs of each', DASHBOARD),
  benchmark(
    'start',
    'a gateway with a year on the disk: start, memory, idle load',
    'starts of each kind',
    createStartScenarios(),
  ),
  { name: 'blocks', summary: 'telemetry blocks: bytes, encoding, decoding', run: runBlocks },
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
