import { ENTRY } from '#scripts/cli/start-command.ts'
import { HUB_ADMIN_KEY } from '#scripts/rig/hub-process.ts'
import { below, noneOf, printProgress, type ScenarioReport } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { SyncEnvironment } from './environment.ts'

const SITES = 200
const SHORT_SITES = 10
const DURATION_S = 120
const SHORT_DURATION_S = 20
const TARGET_LAG_S = 15
const END_LIMIT_MS = 120_000

/** Last line of the simulator. */
const SUMMARY = /([\d,]+) rows acknowledged in .* (\d+) not acknowledged.* p95 ([\d.]+) s?.* refused (\d+)/

/** Measures many light sites together against one hub. */
export async function runSites(context: ScenarioContext): Promise<ScenarioReport> {
  const { bench, isShort } = context
  const sites = isShort ? SHORT_SITES : SITES
  const durationS = context.durationS ?? (isShort ? SHORT_DURATION_S : DURATION_S)
  const environment = await SyncEnvironment.create(context)
  const fleet = bench.spawn('sites', process.execPath, [
    ENTRY,
    'simulate',
    '--sites',
    String(sites),
    '--hub',
    environment.hubUrl,
    '--key',
    HUB_ADMIN_KEY,
    '--duration',
    String(durationS),
  ])
  const result = await fleet.take('summary', durationS * 1000 + END_LIMIT_MS, readSummary)
  await fleet.stop()
  await environment.stop()
  // without a row there is no lag to measure
  const lagP95S = result.rows > 0 ? result.lagP95S : Number.NaN
  printProgress(`  ${result.rows} rows of ${sites} sites, lag p95 ${result.lagP95S.toFixed(1)} s`)
  return {
    figures: [
      below(`sites: lag of ${sites} sites, p95`, lagP95S, TARGET_LAG_S, { unit: ' s', digits: 1 }),
      noneOf('sites: refused', result.refused),
      noneOf('sites: rows not acknowledged at the end', result.left),
    ],
    raw: { sites, durationS, ...result },
  }
}

function readSummary(line: string) {
  const found = SUMMARY.exec(line)
  if (found === null) return undefined
  const [, rows = '', left, lagP95S, refused] = found
  return {
    rows: Number(rows.replaceAll(',', '')),
    left: Number(left),
    lagP95S: Number(lagP95S),
    refused: Number(refused),
  }
}
