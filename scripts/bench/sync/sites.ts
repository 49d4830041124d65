import { ENTRY } from '#scripts/cli/start-command.ts'
import { none } from '#scripts/rig/figures.ts'
import { HUB_ADMIN_KEY } from '#scripts/rig/hub-process.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { startSiteHub } from './environment.ts'

const SITES = 200
const SHORT_SITES = 10
const END_LIMIT_MS = 120_000

/** Last line of the simulator. */
const SUMMARY = /([\d,]+) rows acknowledged in .* (\d+) not acknowledged.* p95 ([\d.]+) s?.* refused (\d+)/

/** Measures many light sites together against one hub. */
export const sites = measurement({
  name: 'sites',
  summary: `${SITES} simulated sites on one hub`,
  durationS: [120, 20],
  figures: {
    lag: {
      what: 'from the device to the row of the hub, p95',
      unit: ' s',
      target: ['<', 15],
      inShort: true,
      digits: 1,
    },
    rows: { what: 'rows acknowledged' },
    refused: none('requests refused'),
    left: none('rows not acknowledged at the end'),
  },
  async run({ bench, isShort, durationS }) {
    const hub = await startSiteHub(bench)
    const count = isShort ? SHORT_SITES : SITES
    const options = `--sites ${count} --hub ${hub.url} --key ${HUB_ADMIN_KEY} --duration ${durationS}`
    const fleet = bench.spawn('sites', process.execPath, [ENTRY, 'simulate', ...options.split(' ')])
    const summary = await fleet.take(
      'summary',
      durationS * 1000 + END_LIMIT_MS,
      (line) => SUMMARY.exec(line) ?? undefined,
    )
    await fleet.stop()
    await hub.stop()
    const [, rows = 0, left = 0, lag = 0, refused = 0] = summary.map((text) => Number(text.replaceAll(',', '')))
    // without a row there is no lag to measure
    return { lag: rows > 0 ? lag : Number.NaN, rows, refused, left }
  },
})
