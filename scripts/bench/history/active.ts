import type { GatewayProcess } from '#scripts/rig/gateway-process.ts'
import { startDownloadClient } from '#scripts/rig/load/download-process.ts'
import { below, formatCount, formatMs, median, printTable, type ScenarioReport } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import type { SharedHistory } from './shared-history.ts'
import { countUnsealed } from './telemetry-log.ts'
import { activeTrips, countActive } from './trip-queries.ts'

const TARGET_MS = 100
const ROUNDS = 15
const SHORT_ROUNDS = 3

interface Phase {
  name: string
  unsealed: number
  activeCount: number
  durationsMs: number[]
}

/** Measures the search for devices on a trip: with the last minutes in the log, as usual, and all in blocks. */
export async function runActive(context: ScenarioContext, history: SharedHistory): Promise<ScenarioReport> {
  const part = await history.active()
  const folder = await history.folder()
  const gateway = await history.start()
  const phases = [await measure(context, 'partly in the log', folder.path, gateway)]
  await folder.seal(gateway)
  phases.push(await measure(context, 'all sealed', folder.path, gateway))
  await gateway.process.stop()
  const devices = part.hardwareIds.length
  printTable(
    `Active trips of ${devices} devices on their way`,
    ['', 'in the log', 'active', 'median ms', 'longest ms'],
    phases.map(({ name, unsealed, activeCount, durationsMs }) => [
      name,
      formatCount(unsealed),
      formatCount(activeCount),
      formatMs(median(durationsMs)),
      formatMs(Math.max(...durationsMs)),
    ]),
  )
  return {
    figures: phases.map(({ name, activeCount, durationsMs }) => {
      const figure = `active: GET /trips/active, ${name}, ${activeCount} of ${devices} devices on a trip`
      // a response without any device would make the time meaningless
      const medianMs = activeCount > 0 ? median(durationsMs) : Number.NaN
      return below(figure, medianMs, TARGET_MS, { unit: ' ms', digits: 1, isJudged: !context.isShort })
    }),
    raw: { records: part.records, phases },
  }
}

async function measure(context: ScenarioContext, name: string, path: string, gateway: GatewayProcess): Promise<Phase> {
  const rounds = context.rounds ?? (context.isShort ? SHORT_ROUNDS : ROUNDS)
  const client = startDownloadClient(context.bench)
  const query = activeTrips(gateway)
  const activeCount = await countActive(query)
  const durationsMs: number[] = []
  for (let round = 0; round < rounds; round++) {
    const { durationS } = await client.call('download', query)
    durationsMs.push(durationS * 1000)
  }
  client.kill()
  return { name, unsealed: countUnsealed(path), activeCount, durationsMs }
}
