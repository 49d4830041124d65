import { setTimeout as sleep } from 'node:timers/promises'
import { ADMIN_KEY } from '#scripts/rig/gateway-process.ts'
import { compareP99, countLost, type LoadPair, PUBACK_COLUMNS, pubackCells } from '#scripts/rig/load/beside.ts'
import type { Download, DownloadResult } from '#scripts/rig/load/download-client.ts'
import { besideDownloads, startDownloadClient } from '#scripts/rig/load/download-process.ts'
import type { LoadResult } from '#scripts/rig/load/plan.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { peakDuring, sampleFor } from '#scripts/rig/quiet-memory.ts'
import {
  atMost,
  below,
  type Figure,
  formatCount,
  median,
  noneOf,
  printProgress,
  printTable,
  type ScenarioReport,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { type HistoryEnvironment, startOnHistory } from '../history/history-environment.ts'

const FORMATS = ['json', 'csv', 'ndjson', 'gpx'] as const
const TARGET_MB = 100
const TARGET_RATIO = 1.2
const LOADED_DEVICES = 200
const PER_DEVICE_PER_S = 1
const WARMUP_S = 2
const SETTLE_MS = 2000
const SHORT_SETTLE_MS = 100
const IDLE_MS = 450

type Format = (typeof FORMATS)[number]

interface MemoryRun {
  format: Format
  result: DownloadResult
  idleBytes: number
  peakBytes: number
}

interface Pair extends LoadPair {
  format: Format
  /** Downloads that ended while the load was measured. */
  downloads: number
}

/** Measures the cost of a long download for the process and the devices. */
export async function runDownloads(context: ScenarioContext): Promise<ScenarioReport> {
  const environment = await startOnHistory(context)
  const memory: MemoryRun[] = []
  for (const format of FORMATS) memory.push(await measureMemory(environment, format))
  const rounds = context.rounds ?? (context.isShort ? 1 : 6)
  const durationS = context.durationS ?? (context.isShort ? 1 : 20)
  const pairs: Pair[] = []
  for (let round = 0; round < rounds; round++) {
    const pair = await measurePair(environment, FORMATS[round % 2] ?? 'json', round % 2 === 0, durationS)
    const [, , alone, beside] = pubackCells([pair])
    printProgress(`  ${pair.format}: PUBACK p99 ${alone} ms alone, ${beside} ms disturbed`)
    pairs.push(pair)
  }
  await environment.gateway.process.stop()
  print(environment, memory, pairs)
  const figures = createFigures(memory, pairs, context.isShort)
  return { figures, raw: { rounds, durationS, history: environment.history, memory, pairs } }
}

function downloadOf({ gateway, history }: HistoryEnvironment, format: Format): Download {
  const { hardwareId, fromMs, toMs } = history
  const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString())
  const path = `/devices/${hardwareId}/gps?from=${from}&to=${to}&format=${format}`
  return { port: gateway.ports.http, path, key: ADMIN_KEY }
}

async function measureMemory(environment: HistoryEnvironment, format: Format): Promise<MemoryRun> {
  const { pid } = environment.gateway.process
  await settle(environment)
  const idle = await sampleFor(pid, IDLE_MS)
  const client = startDownloadClient(environment.context.bench)
  const { result, peakBytes } = await peakDuring(pid, () => client.call('download', downloadOf(environment, format)))
  client.kill()
  printProgress(`  ${format}: ${formatCount(result.bytes / 1e6)} MB in ${result.durationS.toFixed(1)} s`)
  return { format, result, idleBytes: median(idle), peakBytes }
}

function settle({ context }: HistoryEnvironment): Promise<void> {
  return sleep(context.isShort ? SHORT_SETTLE_MS : SETTLE_MS)
}

/** Measures the load alone and during downloads; `isAloneFirst` alternates, so that neither is always last. */
async function measurePair(
  environment: HistoryEnvironment,
  format: Format,
  isAloneFirst: boolean,
  durationS: number,
): Promise<Pair> {
  const before = isAloneFirst ? await loadOnce(environment, durationS) : undefined
  const work = () => loadOnce(environment, durationS)
  const { bench } = environment.context
  const { result: beside, downloads: ended } = await besideDownloads(bench, [downloadOf(environment, format)], work)
  await settle(environment)
  return { format, alone: before ?? (await loadOnce(environment, durationS)), beside, downloads: ended }
}

function loadOnce({ context, gateway, devices }: HistoryEnvironment, durationS: number): Promise<LoadResult> {
  const options = { warmupS: context.isShort ? 0 : WARMUP_S, durationS }
  const loaded = devices.slice(0, LOADED_DEVICES)
  return startDeviceLoad(context.bench, gateway, loaded, PER_DEVICE_PER_S, options).result()
}

function print({ history }: HistoryEnvironment, memory: readonly MemoryRun[], pairs: readonly Pair[]): void {
  printTable(
    `Downloads: ${formatCount(history.records)} records`,
    ['', 'MB', 's', 'records/s', 'idle MB', 'peak MB'],
    memory.map(({ format, result, idleBytes, peakBytes }) => [
      format,
      formatCount(result.bytes / 1e6),
      result.durationS.toFixed(1),
      formatCount(history.records / result.durationS),
      (idleBytes / 1e6).toFixed(0),
      (peakBytes / 1e6).toFixed(0),
    ]),
  )
  printTable(
    `Downloads: PUBACK in ms, ${LOADED_DEVICES} devices x ${PER_DEVICE_PER_S}/s`,
    ['round', ...PUBACK_COLUMNS, 'downloads'],
    pairs.map((pair) => [pair.format, ...pubackCells([pair]), String(pair.downloads)]),
  )
}

function createFigures(memory: readonly MemoryRun[], pairs: readonly Pair[], isShort: boolean): Figure[] {
  const { ratio, detail } = compareP99(pairs)
  const name = 'downloads: PUBACK p99 disturbed : alone'
  return [
    ...memory.map(({ format, idleBytes, peakBytes }) => {
      const aboveMb = (peakBytes - idleBytes) / 1e6
      return below(`downloads: resident memory above idle, ${format}`, aboveMb, TARGET_MB, { unit: ' MB' })
    }),
    atMost(name, ratio, TARGET_RATIO, { digits: 2, detail, isJudged: !isShort }),
    noneOf('downloads: not acknowledged', countLost(pairs.map(({ beside }) => beside))),
  ]
}
