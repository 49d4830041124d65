import { setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import type { GatewayProcess } from '#scripts/rig/gateway-process.ts'
import { compareP99, countLost, PUBACK_COLUMNS, pubackCells } from '#scripts/rig/load/beside.ts'
import type { Download } from '#scripts/rig/load/download-client.ts'
import { besideDownloads } from '#scripts/rig/load/download-process.ts'
import type { LoadResult } from '#scripts/rig/load/plan.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { readMachineTime, stolenSince } from '#scripts/rig/process-usage.ts'
import {
  atMost,
  formatMs,
  formatPercent,
  noneOf,
  printProgress,
  printTable,
  type ScenarioReport,
  withoutTarget,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import type { SharedHistory } from './shared-history.ts'
import { activeTrips, tripsOfAll, tripsOfOne } from './trip-queries.ts'

const PER_DEVICE_PER_S = 1
const TARGET_RATIO = 1.5
const WARMUP_S = 2
const ROUNDS = 6
/** Largest share of a round that the host of a virtual machine may take; rounds above it are repeated. */
const QUIET_SHARE = 0.02
const ATTEMPTS_PER_ROUND = 3
const DURATION_S = 20
const LOWEST_PRIORITY = 19
const SETTLE_MS = 2000
/** The devices on their way stop reporting while this is measured, but must still be evaluated. */
const MAX_AGE_S = 7200

interface Environment {
  context: ScenarioContext
  gateway: GatewayProcess
  devices: BenchDevice[]
  queries: Download[]
  durationS: number
}

/** The last phase runs a process that only computes, at the lowest priority: the cost of any work here. */
const PHASES = ['alone', 'beside', 'besideSpinner'] as const
type Phase = (typeof PHASES)[number]

interface Round extends Record<Phase, LoadResult> {
  /** Queries answered while the load was measured. */
  queries: number
  /** Share of the machine's time that its host gave to others meanwhile. */
  stolenShare: number
}

/** Measures the effect on devices of a client that requests trips without a pause. */
export async function runHistoryNeighbours(context: ScenarioContext, history: SharedHistory): Promise<ScenarioReport> {
  const rounds = context.rounds ?? (context.isShort ? 1 : ROUNDS)
  const durationS = context.durationS ?? (context.isShort ? 2 : DURATION_S)
  const [single, fleet] = [await history.single(), await history.fleet()]
  const devices = await history.loadedDevices()
  await history.active()
  const gateway = await history.start()
  const queries = [tripsOfOne(gateway, single), tripsOfAll(gateway, fleet), activeTrips(gateway, MAX_AGE_S)]
  const environment = { context, gateway, devices, queries, durationS }
  const measured: Round[] = []
  const quiet = () => measured.filter(({ stolenShare }) => stolenShare <= QUIET_SHARE)
  const attempts = context.isShort ? rounds : rounds * ATTEMPTS_PER_ROUND
  while (measured.length < attempts && quiet().length < rounds) {
    const round = await measureRound(environment, measured.length % 2 === 0)
    const [alone, beside, besideSpinner] = p99sOf(round)
    const others = `${beside} during ${round.queries} queries, ${besideSpinner} with a busy process`
    printProgress(`  PUBACK p99 in ms: ${alone} alone, ${others}; ${formatPercent(round.stolenShare)} stolen`)
    measured.push(round)
  }
  const quietest = measured.toSorted((a, b) => a.stolenShare - b.stolenShare).slice(0, rounds)
  await gateway.process.stop()
  printTable(
    `Neighbours: PUBACK in ms, ${devices.length} devices x ${PER_DEVICE_PER_S}/s, ${durationS} s a phase; the ` +
      `quietest ${quietest.length} of ${measured.length} rounds`,
    ['round', ...PUBACK_COLUMNS, 'with a busy process', 'queries', 'stolen'],
    quietest.map((round, i) => [
      String(i + 1),
      ...pubackCells([round]),
      formatMs(round.besideSpinner.measured.sinceWrite.p99Ms),
      String(round.queries),
      formatPercent(round.stolenShare),
    ]),
  )
  const besideTrips = compareP99(quietest)
  const besideSpinner = compareP99(quietest.map((round) => ({ ...round, beside: round.besideSpinner })))
  const lost = countLost(measured.flatMap((round) => PHASES.map((phase) => round[phase])))
  return {
    figures: [
      atMost('neighbours: PUBACK p99 during trips : alone', besideTrips.ratio, TARGET_RATIO, {
        digits: 2,
        detail: besideTrips.detail,
        isJudged: !context.isShort,
      }),
      withoutTarget(
        'neighbours: the same with a process that only computes, nice 19',
        `${besideSpinner.ratio.toFixed(2)} (${besideSpinner.detail})`,
      ),
      noneOf('neighbours: not acknowledged', lost),
    ],
    raw: { rounds, durationS, measured },
  }
}

function p99sOf(round: Round): string[] {
  return PHASES.map((phase) => formatMs(round[phase].measured.sinceWrite.p99Ms))
}

/** Measures one round; `isAloneFirst` alternates, so that neither phase is always the later. */
async function measureRound(environment: Environment, isAloneFirst: boolean): Promise<Round> {
  const time = readMachineTime()
  const before = isAloneFirst ? await loadOnce(environment) : undefined
  const { bench, isShort } = environment.context
  const { result: beside, downloads: queries } = await besideDownloads(bench, environment.queries, () =>
    loadOnce(environment),
  )
  await sleep(isShort ? 0 : SETTLE_MS)
  const spinner = bench.spawn('busy process', process.execPath, ['-e', 'for (;;);'])
  setPriority(spinner.pid, LOWEST_PRIORITY)
  const besideSpinner = await loadOnce(environment)
  await spinner.stop('SIGKILL')
  const alone = before ?? (await loadOnce(environment))
  return { alone, beside, besideSpinner, queries, stolenShare: stolenSince(time) }
}

function loadOnce({ context, gateway, devices, durationS }: Environment): Promise<LoadResult> {
  const options = { warmupS: context.isShort ? 0 : WARMUP_S, durationS }
  return startDeviceLoad(context.bench, gateway, devices, PER_DEVICE_PER_S, options).result()
}
