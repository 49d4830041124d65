import { join } from 'node:path'
import { ForkedScript } from '#scripts/rig/calls.ts'
import { startDownloadClient } from '#scripts/rig/load/download-process.ts'
import {
  atMost,
  formatCount,
  formatMs,
  median,
  printProgress,
  printTable,
  type ScenarioReport,
  withoutTarget,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import type { SharedHistory } from './shared-history.ts'
import type { SpeedSumFunctions } from './speed-sum.ts'
import { countTripsOfOne, tripsOfOne } from './trip-queries.ts'

const TARGET_RATIO = 1.5
const ROUNDS = 9
const SHORT_ROUNDS = 3

/** Measures the trips of a month of one device, compared with SQLite adding up a column of the same fixes. */
export async function runTripsOne(context: ScenarioContext, history: SharedHistory): Promise<ScenarioReport> {
  const { bench, isShort } = context
  const rounds = context.rounds ?? (isShort ? SHORT_ROUNDS : ROUNDS)
  const part = await history.single()
  const path = join(bench.createFolder('rows'), 'rows.db')
  const script = new URL('./speed-sum.ts', import.meta.url)
  const sqlite = new ForkedScript<SpeedSumFunctions>(bench, 'SQLite', script)
  await sqlite.call('create', path, history.sizes.singleDays)
  const gateway = await history.start()
  const query = tripsOfOne(gateway, part)
  const counts = await countTripsOfOne(query)
  if (counts.positions !== part.records) throw new Error(`trips are of ${counts.positions} positions`)
  const client = startDownloadClient(bench)
  // one warm-up of each: the response above came from a process that had just started
  await sqlite.call('addUp')
  await client.call('download', query)
  const runs: { tripsS: number; sumS: number }[] = []
  for (let round = 0; round < rounds; round++) {
    const [sumS, trips] = [await sqlite.call('addUp'), await client.call('download', query)]
    runs.push({ tripsS: trips.durationS, sumS })
    printProgress(`  trips ${formatMs(trips.durationS * 1000)} ms, sum ${formatMs(sumS * 1000)} ms`)
  }
  client.kill()
  await Promise.all([sqlite.stop(), gateway.process.stop()])
  const [tripsS, sumS] = [median(runs.map((run) => run.tripsS)), median(runs.map((run) => run.sumS))]
  printTable(
    `Trips of one device: ${formatCount(counts.positions)} fixes, ${counts.trips} trips, ${counts.stops} stops`,
    ['medians', 'ms', 'fixes/s'],
    [
      ['GET /trips/:id', formatMs(tripsS * 1000), formatCount(counts.positions / tripsS)],
      ['SELECT sum(speed)', formatMs(sumS * 1000), formatCount(counts.positions / sumS)],
    ],
  )
  const name = `trips-one: GET /trips/:id : SELECT sum(speed), ${formatCount(counts.positions)} fixes`
  const detail = `${formatMs(tripsS * 1000)} : ${formatMs(sumS * 1000)} ms`
  return {
    figures: [
      atMost(name, tripsS / sumS, TARGET_RATIO, { digits: 2, detail, isJudged: !isShort }),
      withoutTarget('trips-one: fixes a second', formatCount(counts.positions / tripsS)),
    ],
    raw: { counts, runs },
  }
}
