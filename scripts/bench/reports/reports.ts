import type { GatewayProcess } from '#scripts/rig/gateway-process.ts'
import { compareP99, countLost, PUBACK_COLUMNS, pubackCells } from '#scripts/rig/load/beside.ts'
import type { Download } from '#scripts/rig/load/download-client.ts'
import { besideDownloads, startDownloadClient } from '#scripts/rig/load/download-process.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { peakDuring, quietResidentBytes } from '#scripts/rig/quiet-memory.ts'
import {
  atMost,
  below,
  formatMb,
  median,
  noneOf,
  printProgress,
  printTable,
  type ScenarioReport,
  withoutTarget,
} from '#scripts/rig/report.ts'
import type { Scenario, ScenarioContext } from '#scripts/rig/scenario.ts'
import { CourseMonth } from './course-month.ts'

const ROUNDS = 5
const TRAFFIC_S = 3
/** Limit for a report that a user waits for, but may leave in the background. */
const MONTH_S = 30
const MEMORY_MB = 150
const BESIDE_RATIO = 1.5
const DURATION_S = 20
const WARMUP_S = 2

type Run = (context: ScenarioContext, course: CourseMonth) => Promise<ScenarioReport>

/** Scenarios that measure the reports of a course of 200 carts; all share one month. */
export function createReportScenarios(): Scenario[] {
  let course: CourseMonth | undefined
  const scenario = (name: string, summary: string, run: Run): Scenario => ({
    name,
    summary,
    run: (context) => {
      course ??= new CourseMonth(context)
      return run(context, course)
    },
  })
  return [
    scenario('maps', 'traffic and silences of a week of 200 carts: time, memory', runMaps),
    scenario('months', 'utilisation and batteries of a month of 200 carts: time, memory', runMonths),
    scenario('neighbours', '200 devices at 1 message a second during all of that', runReportNeighbours),
  ]
}

async function runMaps(context: ScenarioContext, course: CourseMonth): Promise<ScenarioReport> {
  return measure(context, course, (entry) => course.startWeek(entry), [
    { name: 'traffic', of: (gateway) => course.traffic(gateway), limitS: TRAFFIC_S },
    { name: 'silence', of: (gateway) => course.silence(gateway), limitS: TRAFFIC_S },
  ])
}

async function runMonths(context: ScenarioContext, course: CourseMonth): Promise<ScenarioReport> {
  return measure(context, course, (entry) => course.startWhole(entry), [
    { name: 'utilisation', of: (gateway) => course.utilisation(gateway), limitS: MONTH_S },
    { name: 'battery', of: (gateway) => course.battery(gateway), limitS: MONTH_S },
  ])
}

interface Report {
  name: string
  of: (gateway: GatewayProcess) => Download
  limitS: number
}

/** Measures the time of each report, then that of another gateway on the same folder, if one is named. */
async function measure(
  context: ScenarioContext,
  course: CourseMonth,
  start: (entry?: string) => Promise<GatewayProcess>,
  reports: readonly Report[],
): Promise<ScenarioReport> {
  const { beside, isShort } = context
  const own = await measureEach(context, await start(), reports)
  const other = beside === undefined ? [] : await measureEach(context, await start(beside), reports)
  const rows = [...own, ...other.map((one) => ({ ...one, name: `${one.name}, other gateway` }))]
  printTable(
    `Reports of ${course.carts} carts`,
    ['', 's', 'MB above idle', 'MB of response'],
    rows.map(({ name, durationS, aboveBytes, bytes }) => [
      name,
      durationS.toFixed(2),
      formatMb(aboveBytes),
      formatMb(bytes),
    ]),
  )
  const figures = own.flatMap(({ name, rounds, limitS, durationS, aboveBytes }) => [
    below(`${name} of ${course.carts} carts, median of ${rounds}`, durationS, limitS, {
      unit: ' s',
      digits: 2,
      isJudged: !isShort,
    }),
    below(`${name}: resident memory above idle, at most`, aboveBytes / 1e6, MEMORY_MB, {
      unit: ' MB',
      isJudged: !isShort,
    }),
  ])
  const figuresBeside = other.map(({ name, durationS }) =>
    withoutTarget(`${name} of the other gateway`, `${durationS.toFixed(2)} s`),
  )
  return { figures: [...figures, ...figuresBeside], raw: { own, other } }
}

async function measureEach(
  { bench, isShort, rounds = isShort ? 1 : ROUNDS }: ScenarioContext,
  gateway: GatewayProcess,
  reports: readonly Report[],
) {
  const client = startDownloadClient(bench)
  const { pid } = gateway.process
  const measured = []
  for (const { name, of, limitS } of reports) {
    const runs: { durationS: number; aboveBytes: number; bytes: number }[] = []
    for (let round = 0; round < rounds; round++) {
      const idleBytes = await quietResidentBytes(pid, isShort)
      const { result, peakBytes } = await peakDuring(pid, () => client.call('download', of(gateway)))
      runs.push({ ...result, aboveBytes: peakBytes - idleBytes })
      printProgress(`  ${name}: ${result.durationS.toFixed(2)} s, ${formatMb(peakBytes - idleBytes)} MB above idle`)
    }
    measured.push({
      name,
      limitS,
      rounds,
      runs,
      bytes: runs[0]?.bytes ?? 0,
      durationS: median(runs.map((run) => run.durationS)),
      aboveBytes: Math.max(...runs.map((run) => run.aboveBytes)),
    })
  }
  client.kill()
  await gateway.process.stop()
  return measured
}

/** Measures the effect on devices of a user who requests one report after the other. */
async function runReportNeighbours(context: ScenarioContext, course: CourseMonth): Promise<ScenarioReport> {
  const { bench, isShort } = context
  const rounds = context.rounds ?? (isShort ? 1 : ROUNDS)
  const options = {
    warmupS: isShort ? 0 : WARMUP_S,
    durationS: context.durationS ?? (isShort ? 2 : DURATION_S),
  }
  const gateway = await course.startWhole()
  const reports = [
    course.traffic(gateway),
    course.utilisation(gateway),
    course.silence(gateway),
    course.battery(gateway),
  ]
  const load = () => startDeviceLoad(bench, gateway, [...course.loadedDevices], 1, options).result()
  const measured = []
  for (let round = 0; round < rounds; round++) {
    // alternates, so that neither is always the later
    const before = round % 2 === 0 ? await load() : undefined
    const { result: beside, downloads } = await besideDownloads(bench, reports, load)
    measured.push({ alone: before ?? (await load()), beside, downloads })
  }
  await gateway.process.stop()
  printTable(
    `Neighbours: PUBACK in ms, ${course.loadedDevices.length} devices x 1/s, ${options.durationS} s a phase`,
    ['round', ...PUBACK_COLUMNS, 'reports'],
    measured.map((round, i) => [String(i + 1), ...pubackCells([round]), String(round.downloads)]),
  )
  const { ratio, detail } = compareP99(measured)
  return {
    figures: [
      atMost('neighbours: PUBACK p99 during reports : alone', ratio, BESIDE_RATIO, {
        digits: 2,
        detail,
        isJudged: !isShort,
      }),
      withoutTarget(
        'neighbours: reports answered meanwhile',
        String(measured.reduce((sum, one) => sum + one.downloads, 0)),
      ),
      noneOf('neighbours: not acknowledged', countLost(measured.flatMap(({ alone, beside }) => [alone, beside]))),
    ],
    raw: { measured },
  }
}
