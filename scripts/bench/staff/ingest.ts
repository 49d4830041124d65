import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import {
  atLeast,
  type Figure,
  formatCount,
  formatMs,
  median,
  noneOf,
  printProgress,
  printTable,
  type ScenarioReport,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { must, openCourse, registerCarts } from '#scripts/rig/staff-course.ts'
import { type SaturationRun, saturate } from '../ingest/saturation-run.ts'

const DEVICES = 500
const SHORT_DEVICES = 20
const ROUNDS = 5
const DURATION_S = 8
const SHORT_S = 0.5
const TARGET_RATIO = 0.9
/** Address that does not respond: a webhook whose deliveries have to wait. */
const NOWHERE = 'http://127.0.0.1:9/'
/** The `cartbarn.ts` of a checkout from before there were carts; default: this gateway without course settings. */
const BEFORE = process.env.CARTBARN_BENCH_BEFORE

interface Subject {
  name: string
  entry: string
  dataDir: string
  prepare(gateway: GatewayProcess): Promise<{ hardwareId: string; password: string }[]>
}

interface Run extends SaturationRun {
  subject: string
  notStored: number
}

/** Measures the throughput of a gateway with carts, zones, alerts, auto-lock and webhooks, and before them. */
export async function runIngest(context: ScenarioContext): Promise<ScenarioReport> {
  const { bench, entry, isShort } = context
  const rounds = context.rounds ?? (isShort ? 1 : ROUNDS)
  const durationS = context.durationS ?? (isShort ? SHORT_S : DURATION_S)
  const count = isShort ? SHORT_DEVICES : DEVICES
  const subjects: Subject[] = [
    {
      name: 'before',
      entry: BEFORE ?? entry,
      dataDir: bench.createFolder('before'),
      prepare: ({ api }) => api.registerDevices(count),
    },
    {
      name: 'with all',
      entry,
      dataDir: bench.createFolder('with-all'),
      prepare: async (gateway) => {
        await openCourse(gateway)
        await must(gateway, 'POST', '/webhooks', { url: NOWHERE })
        return registerCarts(gateway, { count, deviceType: 'teebox', id: 'cart' })
      },
    },
  ]
  const runs: Run[] = []
  const prepared = []
  for (const subject of subjects) {
    const gateway = await startGateway(bench, subject)
    prepared.push({ subject, devices: await subject.prepare(gateway), notBeforeMs: 0 })
    await gateway.process.stop()
  }
  for (let round = 0; round < rounds; round++) {
    for (const each of round % 2 === 0 ? prepared : prepared.toReversed()) {
      const { subject, devices, notBeforeMs } = each
      const gateway = await startGateway(bench, subject)
      const storedBefore = await gateway.api.gpsCount()
      const target = { pid: gateway.process.pid, port: gateway.ports.mqtt, devices, durationS, notBeforeMs }
      const run = await saturate(bench, target)
      each.notBeforeMs = run.totals.newestSampleMs + 1
      const notStored = run.totals.acknowledged - ((await gateway.api.gpsCount()) - storedBefore)
      await gateway.process.stop()
      printProgress(`  ${subject.name}: ${formatCount(run.perS)}/s`)
      runs.push({ ...run, subject: subject.name, notStored: Math.max(0, notStored) })
    }
  }
  print(runs)
  return { figures: createFigures(runs, !isShort), raw: { rounds, durationS, before: BEFORE ?? null, runs } }
}

function of(runs: readonly Run[], subject: string, pick: (run: Run) => number): number[] {
  return runs.filter((run) => run.subject === subject).map(pick)
}

function print(runs: readonly Run[]): void {
  const rows = ['before', 'with all'].map((subject) => {
    const middle = (pick: (run: Run) => number) => median(of(runs, subject, pick))
    return [
      subject,
      formatCount(middle(({ perS }) => perS)),
      middle(({ brokerCpuUs }) => brokerCpuUs).toFixed(2),
      formatMs(middle(({ sinceWrite }) => sinceWrite.p99Ms)),
    ]
  })
  printTable('Ingest', ['medians', 'acked/s', 'CPU us/message', 'ack p99 ms'], rows)
}

function createFigures(runs: readonly Run[], isJudged: boolean): Figure[] {
  const perS = ({ perS: rate }: Run) => rate
  const [before, after] = [of(runs, 'before', perS), of(runs, 'with all', perS)]
  // consecutive runs of a round had the same conditions on the machine
  const ratio = median(after.map((rate, round) => rate / (before[round] ?? Number.NaN)))
  const detail = `${formatCount(median(after))} : ${formatCount(median(before))}/s`
  const what = BEFORE === undefined ? 'a course without settings' : 'before'
  return [
    atLeast(`staff: ingest with all : ${what}`, ratio, TARGET_RATIO, {
      digits: 2,
      detail,
      isJudged,
    }),
    noneOf(
      'staff: acknowledged but not stored',
      runs.reduce((sum, { notStored }) => sum + notStored, 0),
    ),
  ]
}
