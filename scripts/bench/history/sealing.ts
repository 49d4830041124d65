import type { BenchDevice, Sealing } from '#scripts/rig/gateway-api.ts'
import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import { compareP99, type LoadPair, PUBACK_COLUMNS, pubackCells } from '#scripts/rig/load/beside.ts'
import type { LoadResult } from '#scripts/rig/load/plan.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { readWrittenBytes, type WrittenBytes } from '#scripts/rig/process-usage.ts'
import { readDatabase } from '#scripts/rig/read-database.ts'
import {
  atLeast,
  type Figure,
  formatCount,
  formatMb,
  median,
  printProgress,
  printTable,
  type ScenarioReport,
  withoutTarget,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { FilledFolder } from './fill.ts'
import { recordActive, samplesOfActive } from './history-parts.ts'

const TARGET_PER_S = 1_000_000
const ROUNDS = 3
/** Two hours and three quarters of two hundred devices, a fix each five seconds. */
const DEVICES = 200
const SHORT_DEVICES = 10
const FIXES_EACH = 10_000
const SHORT_FIXES_EACH = 500
const INTERVAL_MS = 5000
/** 1 May 2026. */
const FROM_MS = 1_777_593_600_000
const LOADED_DEVICES = 200
/** More than the benchmark writes: the gateway seals only at the request of the benchmark. */
const NEVER_BY_ITSELF = '100000000'
const ALONE_S = 10
const LIVE_S = 60
const LIVE_PER_DEVICE_PER_S = 50

interface SealingRun {
  records: number
  wallS: number
  /** Work as the gateway reports it; null if it does not. */
  work: Sealing | null
  written: WrittenBytes
  keptBytes: number
}

interface LoadedRun extends LoadPair {
  wallS: number
}

interface LiveRun {
  written: WrittenBytes
  load: LoadResult
  work: Sealing | null
}

/** Measures the cost of turning the log into its final form. */
export async function runSealing(context: ScenarioContext): Promise<ScenarioReport> {
  const rounds = context.rounds ?? (context.isShort ? 1 : ROUNDS)
  const log = await LongLog.create(context)
  const alone: SealingRun[] = []
  const loaded: LoadedRun[] = []
  for (let round = 0; round < rounds; round++) {
    alone.push(await log.sealAlone())
    loaded.push(await log.sealUnderLoad())
  }
  const live = await runLive(context)
  print(alone, loaded, live)
  return { figures: createFigures(alone, loaded, live, context.isShort), raw: { alone, loaded, live } }
}

/** Folder whose log is filled repeatedly. */
class LongLog {
  readonly #context: ScenarioContext
  readonly #folder: FilledFolder
  readonly #loaded: BenchDevice[]
  readonly #fixesEach: number
  #fromMs = FROM_MS

  private constructor(context: ScenarioContext, folder: FilledFolder, loaded: BenchDevice[]) {
    this.#context = context
    this.#folder = folder
    this.#loaded = loaded
    this.#fixesEach = context.isShort ? SHORT_FIXES_EACH : FIXES_EACH
  }

  static async create(context: ScenarioContext): Promise<LongLog> {
    const folder = await FilledFolder.create(context, 'sealing')
    await folder.register(context.isShort ? SHORT_DEVICES : DEVICES, 'filled')
    return new LongLog(context, folder, await folder.register(LOADED_DEVICES, 'loaded'))
  }

  async sealAlone(): Promise<SealingRun> {
    const records = await this.#refill()
    const gateway = await this.#start()
    const { pid } = gateway.process
    const before = { work: await gateway.api.sealing(), kept: blockBytes(this.#folder.path) }
    const [written, startMs] = [readWrittenBytes(pid), performance.now()]
    await this.#folder.seal(gateway)
    const wallS = (performance.now() - startMs) / 1000
    const run: SealingRun = {
      records,
      wallS,
      work: difference(before.work, await gateway.api.sealing()),
      written: writtenSince(written, pid),
      keptBytes: blockBytes(this.#folder.path) - before.kept,
    }
    printProgress(`  ${formatCount(run.records)} sealed in ${wallS.toFixed(2)} s`)
    await gateway.process.stop()
    return run
  }

  async sealUnderLoad(): Promise<LoadedRun> {
    await this.#refill()
    const gateway = await this.#start()
    const load = (durationS: number | null) =>
      startDeviceLoad(this.#context.bench, gateway, this.#loaded, 1, {
        warmupS: this.#context.isShort ? 0 : 2,
        durationS,
      })
    const alone = await load(this.#context.durationS ?? (this.#context.isShort ? 1 : ALONE_S)).result()
    const beside = load(null)
    await beside.measuring()
    const startMs = performance.now()
    await this.#folder.seal(gateway)
    const wallS = (performance.now() - startMs) / 1000
    beside.stop()
    const run = { alone, beside: await beside.result(), wallS }
    await gateway.process.stop()
    return run
  }

  /** Fills the log; returns the number of records added. */
  #refill(): Promise<number> {
    const fromMs = this.#fromMs
    this.#fromMs += this.#fixesEach * INTERVAL_MS
    const period = { fromMs, toMs: this.#fromMs - 1, sinceMs: fromMs }
    const deviceIds = this.#folder.deviceIds('filled')
    return this.#folder.fillLog(samplesOfActive(deviceIds, recordActive(this.#fixesEach), period))
  }

  /** Starts a gateway that does not seal the log. */
  #start(): Promise<GatewayProcess> {
    return this.#folder.start({ CARTBARN_SEAL_SAMPLES: NEVER_BY_ITSELF })
  }
}

/** Measures with devices that send as usual: bytes written for a record from its arrival to its block. */
async function runLive(context: ScenarioContext): Promise<LiveRun> {
  const { bench, entry, isShort } = context
  const gateway = await startGateway(bench, { entry, dataDir: bench.createFolder('live') })
  const devices = await gateway.api.registerDevices(isShort ? SHORT_DEVICES : DEVICES)
  const written = readWrittenBytes(gateway.process.pid)
  const durationS = context.durationS ?? (isShort ? 1 : LIVE_S)
  const load = startDeviceLoad(bench, gateway, devices, LIVE_PER_DEVICE_PER_S, { durationS })
  const run = {
    load: await load.result(),
    written: writtenSince(written, gateway.process.pid),
    work: await gateway.api.sealing(),
  }
  await gateway.process.stop()
  return run
}

function writtenSince(before: WrittenBytes, pid: number): WrittenBytes {
  const now = readWrittenBytes(pid)
  return { toDisk: now.toDisk - before.toDisk, inCalls: now.inCalls - before.inCalls }
}

function difference(before: Sealing | null, now: Sealing | null): Sealing | null {
  if (before === null || now === null) return null
  return { records: now.records - before.records, workS: now.workS - before.workS }
}

function blockBytes(folder: string): number {
  const sql = 'SELECT sum(length(records)) FROM telemetry_block'
  return readDatabase(folder, (db) => db.prepare<[], number | null>(sql).pluck().get()) ?? 0
}

/** Records per second of sealing work, or of waiting for it if the gateway does not report its work. */
function rateOf({ records, wallS, work }: SealingRun): number {
  return work === null || work.workS === 0 ? records / wallS : work.records / work.workS
}

function print(alone: readonly SealingRun[], loaded: readonly LoadedRun[], live: LiveRun): void {
  printTable(
    'Sealing alone',
    ['round', 'records', 's waited', 's of work', 'records/s', 'MB kept', 'MB written', 'MB in calls'],
    alone.map((run, i) => [
      String(i + 1),
      formatCount(run.records),
      run.wallS.toFixed(2),
      run.work === null ? '?' : run.work.workS.toFixed(2),
      formatCount(rateOf(run)),
      ...[run.keptBytes, run.written.toDisk, run.written.inCalls].map(formatMb),
    ]),
  )
  printTable(
    `Sealing: PUBACK in ms, ${LOADED_DEVICES} devices x 1/s`,
    ['round', 's', ...PUBACK_COLUMNS],
    loaded.map((run, i) => [String(i + 1), run.wallS.toFixed(2), ...pubackCells([run])]),
  )
  printProgress(
    `\n  live: ${formatCount(live.load.acknowledged)} messages of a fix and a voltage each, ` +
      `${formatMb(live.written.toDisk)} MB written, ${formatCount(live.work?.records ?? 0)} records sealed`,
  )
}

function createFigures(
  alone: readonly SealingRun[],
  loaded: readonly LoadedRun[],
  live: LiveRun,
  isShort: boolean,
): Figure[] {
  const rate = median(alone.map(rateOf))
  const { ratio, detail } = compareP99(loaded)
  const amplification = median(alone.map(({ written, keptBytes }) => written.toDisk / keptBytes))
  return [
    atLeast('sealing: records a second of work', rate, TARGET_PER_S, { isJudged: !isShort }),
    withoutTarget('sealing: bytes written to the disk a byte kept in blocks', amplification.toFixed(2)),
    withoutTarget(
      'sealing: bytes written to the disk a live message, fix and voltage',
      (live.written.toDisk / live.load.acknowledged).toFixed(0),
    ),
    withoutTarget('sealing: PUBACK p99 disturbed : alone', `${ratio.toFixed(2)} (${detail})`),
  ]
}
