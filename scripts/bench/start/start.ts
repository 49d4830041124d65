import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startGateway } from '#scripts/rig/gateway-process.ts'
import { besideDownloads } from '#scripts/rig/load/download-process.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { readCpuSeconds } from '#scripts/rig/process-usage.ts'
import { peakDuring } from '#scripts/rig/quiet-memory.ts'
import {
  atMost,
  below,
  formatMb,
  formatMs,
  median,
  noneOf,
  printProgress,
  type ScenarioReport,
  withoutTarget,
} from '#scripts/rig/report.ts'
import type { Scenario, ScenarioContext } from '#scripts/rig/scenario.ts'
import { DAY_MS } from '#shared/time.ts'
import { databasePath } from '#store/db/files.ts'
import { tripsOfAll } from '../history/trip-queries.ts'
import { forgetFiles } from './file-cache.ts'
import { runMonths } from './months.ts'
import { readProcessMemory } from './process-memory.ts'
import { makeYear, type Year } from './year.ts'

const ROUNDS = 10
const SHORT_ROUNDS = 1
const WARM_MS = 1000
const COLD_MS = 1500
/** Rate of a cart in the barn: a report a minute. */
const RESTING_PER_S = 1 / 60
const DURATION_S = 120
const SHORT_DURATION_S = 2
/** Time in which V8 compiles the used code, and collects the garbage of the start, some 100 s after it. */
const SETTLE_S = 120
const SHORT_SETTLE_S = 0.5
const RESTING_DIRTY_MB = 100
const RESTING_RESIDENT_MB = 150
const RESTING_CPU_PERCENT = 1
const TRIPS_RESIDENT_MB = 250
const TRIPS_CARTS = 50
const TRIPS_DAYS = 31
const EXECUTABLE_MB = 45
const RELEASE = fileURLToPath(new URL('../../../dist/release', import.meta.url))

type Run = (context: ScenarioContext, year: () => Promise<Year>) => Promise<ScenarioReport>

/** Scenarios of an installation in its first minute and at rest, with a year on the disk, which all share. */
export function createStartScenarios(): Scenario[] {
  let made: Promise<Year> | undefined
  const scenario = (name: string, summary: string, run: Run): Scenario => ({
    name,
    summary,
    run: (context) => {
      const year = () => {
        made ??= makeYear(context)
        return made
      }
      return run(context, year)
    },
  })
  return [
    scenario('listening', 'from exec to listening with a year of 200 carts, warm and cold', runListening),
    scenario('rest', '200 carts at rest: memory and CPU of the gateway', runRest),
    scenario('trips', 'memory while the trips of 50 carts over 31 days are requested in a loop', runTrips),
    scenario('months', 'GET /telemetry/months of a year, warm and cold, and under device load', runMonths),
    scenario('size', 'the packed executables of dist/release', runSize),
  ]
}

async function runListening(context: ScenarioContext, year: () => Promise<Year>): Promise<ScenarioReport> {
  const { bench, entry, isShort } = context
  const { folder, records } = await year()
  const rounds = context.rounds ?? (isShort ? SHORT_ROUNDS : ROUNDS)
  // the first start stores checksums of the new blocks; it is stopped in order, so that Node keeps its compile cache
  await (await folder.start()).process.stop()
  const start = async () => {
    const startedAtMs = performance.now()
    const { process } = await startGateway(bench, { entry, dataDir: folder.path })
    const tookMs = performance.now() - startedAtMs
    // as by a power cut, so that the next start has a write-ahead log to read
    await process.stop('SIGKILL')
    return tookMs
  }
  const [warm, cold]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    warm.push(await start())
    forgetFiles(folder.path)
    cold.push(await start())
    printProgress(`  ${formatMs(warm.at(-1) ?? 0)} ms warm, ${formatMs(cold.at(-1) ?? 0)} ms cold`)
  }
  const { size } = statSync(databasePath(folder.path))
  const judged = { unit: ' ms', isJudged: !isShort }
  return {
    figures: [
      withoutTarget('listening: on the disk', `${records} fixes and as many voltages, ${formatMb(size)} MB`),
      atMost(`listening: exec to listening, warm, median of ${rounds}`, median(warm), WARM_MS, judged),
      atMost(`listening: the same, the data folder out of the file cache`, median(cold), COLD_MS, judged),
    ],
    raw: { records, bytes: size, warm, cold },
  }
}

async function runRest(context: ScenarioContext, year: () => Promise<Year>): Promise<ScenarioReport> {
  const { bench, isShort } = context
  const { folder, carts } = await year()
  const durationS = context.durationS ?? (isShort ? SHORT_DURATION_S : DURATION_S)
  const gateway = await folder.start()
  const { pid } = gateway.process
  const load = startDeviceLoad(bench, gateway, carts, RESTING_PER_S, { warmupS: null, durationS })
  await load.connected()
  const settleS = isShort ? SHORT_SETTLE_S : SETTLE_S
  const percentDuring = async <Result>(lengthS: number, work: () => Promise<Result>) => {
    const before = readCpuSeconds(pid)
    const result = await work()
    return { result, percent: (100 * (readCpuSeconds(pid) - before)) / lengthS }
  }
  const settling = await percentDuring(settleS, () => sleep(settleS * 1000))
  const { result, percent } = await percentDuring(durationS, () => {
    load.measure()
    return load.result()
  })
  const { residentBytes, privateDirtyBytes } = readProcessMemory(pid)
  await gateway.process.stop()
  const judged = { unit: ' MB', isJudged: !isShort }
  return {
    figures: [
      atMost('rest: private dirty memory', privateDirtyBytes / 1e6, RESTING_DIRTY_MB, judged),
      atMost('rest: resident memory', residentBytes / 1e6, RESTING_RESIDENT_MB, judged),
      below('rest: CPU of a core', percent, RESTING_CPU_PERCENT, {
        unit: ' %',
        digits: 2,
        isJudged: !isShort,
        detail: `${settling.percent.toFixed(2)} in the ${settleS} s before`,
      }),
      noneOf('rest: not acknowledged', result.sent - result.acknowledged),
    ],
    raw: { durationS, residentBytes, privateDirtyBytes, percent, settling: settling.percent },
  }
}

async function runTrips(context: ScenarioContext, year: () => Promise<Year>): Promise<ScenarioReport> {
  const { bench, isShort } = context
  const { folder, carts, toMs, fromMs, records } = await year()
  const durationS = context.durationS ?? (isShort ? SHORT_DURATION_S : DURATION_S)
  const gateway = await folder.start()
  const { pid } = gateway.process
  const hardwareIds = carts.slice(0, TRIPS_CARTS).map(({ hardwareId }) => hardwareId)
  const month = { hardwareIds, records, fromMs: Math.max(fromMs, toMs - TRIPS_DAYS * DAY_MS), toMs }
  const { peakBytes, result } = await peakDuring(pid, () =>
    besideDownloads(bench, [tripsOfAll(gateway, month)], () =>
      startDeviceLoad(bench, gateway, carts, RESTING_PER_S, { durationS }).result(),
    ),
  )
  const after = readProcessMemory(pid)
  await gateway.process.stop()
  return {
    figures: [
      atMost('trips: resident memory, at most', peakBytes / 1e6, TRIPS_RESIDENT_MB, {
        unit: ' MB',
        detail: `${result.downloads} answers`,
        isJudged: !isShort,
      }),
      withoutTarget('trips: private dirty memory after it', `${formatMb(after.privateDirtyBytes)} MB`),
      noneOf('trips: not acknowledged', result.result.sent - result.result.acknowledged),
    ],
    raw: { durationS, peakBytes, after, answers: result.downloads },
  }
}

async function runSize(): Promise<ScenarioReport> {
  const packed = existsSync(RELEASE) ? readdirSync(RELEASE).filter((name) => name.endsWith('.tar.xz')) : []
  if (packed.length === 0)
    return { figures: [withoutTarget('size: npm run build:release has not been run', 'none')], raw: {} }
  const sizes = packed.map((name) => ({ name, bytes: statSync(join(RELEASE, name)).size }))
  return {
    figures: sizes.map(({ name, bytes }) =>
      below(`size: ${name}`, bytes / 1e6, EXECUTABLE_MB, { unit: ' MB', digits: 1 }),
    ),
    raw: { sizes },
  }
}
