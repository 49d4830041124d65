import { stat } from 'node:fs/promises'
import { startGateway } from '#scripts/rig/gateway-process.ts'
import { readCpuSeconds } from '#scripts/rig/process-usage.ts'
import {
  formatCount,
  formatMb,
  formatMs,
  median,
  printProgress,
  printTable,
  type ScenarioReport,
  withoutTarget,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import { databasePath } from '#store/db/files.ts'
import { FilledFolder, type FilledSample } from './fill.ts'

const ROUNDS = 15
const SHORT_ROUNDS = 2
const DEVICES = 50
const DAYS = 365
const SHORT_DAYS = 2
/** Hours of a day in which each cart reports its position, once a minute. */
const HOURS_A_DAY = 12
/** 1 May 2025. */
const FROM_MS = 1_746_057_600_000

interface Starts {
  name: string
  entry: string
  folder: FilledFolder
  wallMs: number[]
  cpuMs: number[]
}

/** Measures a start with the history of a year; alternates with another gateway on a copy, if one is named. */
export async function runStart(context: ScenarioContext): Promise<ScenarioReport> {
  const { bench, entry, beside, isShort } = context
  const rounds = context.rounds ?? (isShort ? SHORT_ROUNDS : ROUNDS)
  const folder = await FilledFolder.create(context, 'start')
  await folder.register(DEVICES, 'bench')
  const days = isShort ? SHORT_DAYS : DAYS
  const samples = await folder.fill(samplesOf(folder.deviceIds('bench'), days))
  const { size } = await stat(databasePath(folder.path))
  const subjects = [startsOf('this', entry, folder)]
  if (beside !== undefined) subjects.push(startsOf('beside', beside, folder.copy()))
  // the first start stores checksums of a copy; it is stopped in order, so that Node keeps its compile cache
  for (const { entry, folder } of subjects) {
    const { process } = await startGateway(bench, { entry, dataDir: folder.path })
    await process.stop()
  }
  for (let round = 0; round < rounds; round++) {
    for (const subject of subjects) await startOnce(context, subject)
    printProgress(`  ${round + 1}: ${subjects.map(({ wallMs }) => formatMs(wallMs.at(-1) ?? 0)).join(', ')} ms`)
  }
  printTable(
    `A start with ${days} days of ${DEVICES} carts: ${formatCount(samples)} samples, ${formatMb(size)} MB`,
    ['', 'starts', 'listening after, median ms', 'CPU until then, median ms'],
    subjects.map(({ name, wallMs, cpuMs }) => [
      name,
      formatCount(wallMs.length),
      formatMs(median(wallMs)),
      formatMs(median(cpuMs)),
    ]),
  )
  const figures = subjects.map(({ name, wallMs, cpuMs }) =>
    withoutTarget(
      `start: ${name}, listening after / CPU until then`,
      `${formatMs(median(wallMs))} / ${formatMs(median(cpuMs))} ms`,
    ),
  )
  const raw = subjects.map(({ name, wallMs, cpuMs }) => ({ name, wallMs, cpuMs }))
  return { figures, raw: { samples, bytes: size, raw } }
}

function startsOf(name: string, entry: string, folder: FilledFolder): Starts {
  return { name, entry, folder, wallMs: [], cpuMs: [] }
}

/** Starts once and kills the gateway as a power cut would, so that the next start has a write-ahead log to read. */
async function startOnce({ bench }: ScenarioContext, { entry, folder, wallMs, cpuMs }: Starts): Promise<void> {
  const startedAtMs = performance.now()
  const { process } = await startGateway(bench, { entry, dataDir: folder.path })
  wallMs.push(performance.now() - startedAtMs)
  cpuMs.push(readCpuSeconds(process.pid) * 1000)
  await process.stop('SIGKILL')
}

/** Samples in the order of time. Positions go back and forth, in numbers as long as real ones. */
function* samplesOf(deviceIds: readonly number[], days: number): Generator<FilledSample, void, void> {
  for (let day = 0; day < days; day++) {
    for (let atMs = 0; atMs < HOURS_A_DAY * HOUR_MS; atMs += MINUTE_MS) {
      const tick = day * 720 + atMs / MINUTE_MS
      for (const [n, deviceId] of deviceIds.entries())
        yield {
          deviceId,
          atMs: FROM_MS + day * DAY_MS + atMs,
          latE7: 365_680_000 + (((tick + n) * 37) % 90_000),
          longE7: -1_219_480_000 + (((tick + n) * 53) % 90_000),
          speedMilliKmh: ((tick + n) * 7) % 24_000,
          voltageMv: 48_000 + (((tick + n) * 11) % 6_000),
        }
    }
  }
}
