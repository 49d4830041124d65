import { startDownloadClient } from '#scripts/rig/load/download-process.ts'
import { peakDuring, quietResidentBytes } from '#scripts/rig/quiet-memory.ts'
import {
  below,
  formatCount,
  formatMb,
  median,
  printProgress,
  printTable,
  type ScenarioReport,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import type { SharedHistory } from './shared-history.ts'
import { countTripsOfAll, tripsOfAll } from './trip-queries.ts'

const TARGET_S = 2
const TARGET_MB = 150
const ROUNDS = 5
const SHORT_ROUNDS = 2

interface Run {
  durationS: number
  idleBytes: number
  peakBytes: number
}

/** Measures time and memory of a month of as many devices as one request may name. */
export async function runTripsFleet(context: ScenarioContext, history: SharedHistory): Promise<ScenarioReport> {
  const { bench, isShort } = context
  const rounds = context.rounds ?? (isShort ? SHORT_ROUNDS : ROUNDS)
  const part = await history.fleet()
  const gateway = await history.start()
  const query = tripsOfAll(gateway, part)
  const client = startDownloadClient(bench)
  const { pid } = gateway.process
  const runs: Run[] = []
  for (let round = 0; round < rounds; round++) {
    const idleBytes = await quietResidentBytes(pid, isShort)
    const { result, peakBytes } = await peakDuring(pid, () => client.call('download', query))
    runs.push({ durationS: result.durationS, idleBytes, peakBytes })
    printProgress(`  ${result.durationS.toFixed(2)} s, ${formatMb(peakBytes - idleBytes)} MB above idle`)
  }
  client.kill()
  // after the measurements: if the gateway answered this first, its memory would count
  const counts = await countTripsOfAll(query)
  await gateway.process.stop()
  if (counts.positions !== part.records) throw new Error(`trips are of ${counts.positions} positions`)
  const durationS = median(runs.map((run) => run.durationS))
  const aboveBytes = Math.max(...runs.map((run) => run.peakBytes - run.idleBytes))
  printTable(
    `Trips of ${part.hardwareIds.length} devices: ${formatCount(counts.positions)} fixes, ` +
      `${formatCount(counts.trips)} trips`,
    ['', 's', 'fixes/s', 'idle MB', 'peak MB'],
    runs.map((run, i) => [
      `round ${i + 1}`,
      run.durationS.toFixed(2),
      formatCount(counts.positions / run.durationS),
      formatMb(run.idleBytes),
      formatMb(run.peakBytes),
    ]),
  )
  return {
    figures: [
      below(
        `trips-fleet: GET /trips of ${formatCount(counts.positions)} fixes, median of ${rounds}`,
        durationS,
        TARGET_S,
        { unit: ' s', digits: 2, isJudged: !isShort },
      ),
      below('trips-fleet: resident memory above idle, at most', aboveBytes / 1e6, TARGET_MB, {
        unit: ' MB',
        isJudged: !isShort,
      }),
    ],
    raw: { counts, runs },
  }
}
