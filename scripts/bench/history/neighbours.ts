import { setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { countLost, type LoadPair, pairFigures, pairValues } from '#scripts/rig/load/beside.ts'
import { besideDownloads, downloadOf } from '#scripts/rig/load/downloads.ts'
import type { LoadResult } from '#scripts/rig/load/plan.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { readMachineTime, stolenSince } from '#scripts/rig/process-usage.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { continueActive, makeHistory, tripsOfAll, tripsOfOne } from './shared-history.ts'

const WARMUP_S = 2
/** Largest share of a round that the host of a virtual machine may take; rounds above it are repeated. */
const QUIET_SHARE = 0.02
const ATTEMPTS_PER_ROUND = 3
const LOWEST_PRIORITY = 19
const SETTLE_MS = 2000
/** The devices on their way stop reporting while this is measured, but must still be evaluated. */
const MAX_AGE_S = 7200

interface Round extends LoadPair {
  /** Disturbed by a process that only computes, at the lowest priority: the cost of any work here. */
  readonly besideSpinner: LoadResult
  /** Queries answered while the load was measured. */
  readonly queries: number
  /** Share of the machine's time that its host gave to others meanwhile. */
  readonly stolenShare: number
}

/** Measures the effect on devices of a client that requests trips without a pause. */
export const neighbours = measurement({
  name: 'neighbours',
  summary: '200 devices at 1 message a second during all of these queries, in the quietest rounds',
  rounds: 6,
  durationS: [20, 2],
  figures: {
    ...pairFigures('200 devices', 1.5),
    spinnerRatio: { what: 'the same ratio with a process that only computes, nice 19', digits: 2 },
    queries: { what: 'queries answered meanwhile' },
    stolen: { what: 'time that the host of this machine gave to others', unit: ' %', digits: 1 },
  },
  async run(context) {
    const { bench, isShort, rounds, durationS } = context
    const history = await bench.shared(makeHistory, context)
    await continueActive(history)
    const { folder, single, fleet, loaded } = history
    const gateway = await folder.start()
    const paths = [tripsOfOne(single), tripsOfAll(fleet), `/trips/active?maxAgeSeconds=${MAX_AGE_S}`]
    const queries = paths.map((path) => downloadOf(gateway, path))
    const load = () =>
      startDeviceLoad(bench, gateway, loaded, 1, { warmupS: isShort ? 0 : WARMUP_S, durationS }).result()
    const measureRound = async (isAloneFirst: boolean): Promise<Round> => {
      const time = readMachineTime()
      const before = isAloneFirst ? await load() : undefined
      const { result: beside, downloads } = await besideDownloads(bench, queries, load)
      await sleep(isShort ? 0 : SETTLE_MS)
      const spinner = bench.spawn('busy process', process.execPath, ['-e', 'for (;;);'])
      setPriority(spinner.pid, LOWEST_PRIORITY)
      const besideSpinner = await load()
      await spinner.stop('SIGKILL')
      const alone = before ?? (await load())
      return { alone, beside, besideSpinner, queries: downloads, stolenShare: stolenSince(time) }
    }
    const measured: Round[] = []
    const quiet = () => measured.filter(({ stolenShare }) => stolenShare <= QUIET_SHARE)
    const attempts = isShort ? rounds : rounds * ATTEMPTS_PER_ROUND
    while (measured.length < attempts && quiet().length < rounds) {
      // alternates, so that neither phase is always the later
      const round = await measureRound(measured.length % 2 === 0)
      printProgress(`  ${round.queries} queries, ${(100 * round.stolenShare).toFixed(1)} % stolen`)
      measured.push(round)
    }
    await gateway.process.stop()
    const quietest = measured.toSorted((a, b) => a.stolenShare - b.stolenShare).slice(0, rounds)
    const besideSpinner = quietest.map((round) => ({ alone: round.alone, beside: round.besideSpinner }))
    return {
      ...pairValues(quietest),
      spinnerRatio: pairValues(besideSpinner).p99Ratio,
      queries: quietest.map((round) => round.queries),
      stolen: quietest.map(({ stolenShare }) => 100 * stolenShare),
      lost: countLost(measured.flatMap((round) => [round.alone, round.beside, round.besideSpinner])),
    }
  },
})
