import { z } from 'zod'
import { printProgress, type ScenarioReport } from './report.ts'
import type { ScenarioContext } from './scenario.ts'
import { HUB_ADMIN_KEY, SyncGround } from './sync-ground.ts'

const SITES = 200
const SHORT_SITES = 10
const DURATION_S = 120
const SHORT_DURATION_S = 20
const TARGET_LAG_S = 15
const END_LIMIT_MS = 120_000

const resultSchema = z.object({ lag_p95_s: z.number(), refused: z.number(), rows: z.number() })

/** Many light sites at once against one hub. */
export async function runSites(context: ScenarioContext): Promise<ScenarioReport> {
  const { bench, isShort } = context
  const sites = isShort ? SHORT_SITES : SITES
  const durationS = context.durationS ?? (isShort ? SHORT_DURATION_S : DURATION_S)
  const ground = await SyncGround.create(context)
  const fleet = bench.spawn('sites', process.execPath, [
    ...['scripts/simulate-fleet.ts', '--sites', String(sites), '--hub', ground.hubUrl],
    ...['--hub-key', HUB_ADMIN_KEY, '--duration', String(durationS), '--json'],
  ])
  const result = await fleet.take('result', durationS * 1000 + END_LIMIT_MS, (line) => {
    try {
      return resultSchema.safeParse(JSON.parse(line)).data
    } catch {
      return undefined
    }
  })
  await fleet.stop()
  await ground.stop()
  printProgress(`  ${result.rows} rows of ${sites} sites, lag p95 ${result.lag_p95_s.toFixed(1)} s`)
  return {
    figures: [
      {
        name: `sites: lag of ${sites} sites, p95`,
        target: `< ${TARGET_LAG_S} s`,
        reached: `${result.lag_p95_s.toFixed(1)} s`,
        passed: result.rows > 0 && result.lag_p95_s < TARGET_LAG_S,
      },
      {
        name: 'sites: refused',
        target: '0',
        reached: String(result.refused),
        passed: result.refused === 0,
      },
    ],
    raw: { sites, durationS, ...result },
  }
}
