import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import type { LoadResult } from '#scripts/rig/load/plan.ts'
import { startDeviceLoad, startFullSpeed } from '#scripts/rig/load/process.ts'
import { type DiskUse, LoopDisk } from '#scripts/rig/loop-disk.ts'
import { readCpuSeconds, readWrittenBytes } from '#scripts/rig/process-usage.ts'
import {
  atMost,
  type Figure,
  formatCount,
  formatMs,
  formatPercent,
  noneOf,
  printProgress,
  printTable,
  type ScenarioReport,
  withoutTarget,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { mustReach, waitUntil } from '#scripts/rig/wait-until.ts'
import { BusyCourse } from '../ingest/busy-course.ts'

/** A course, or a small one that seals its log every few seconds. */
const COURSE = { devices: 200, perDevicePerS: 1, sealSamples: 32_768, durationS: 120, checkMs: 5000 }
const SHORT_COURSE = { devices: 2, perDevicePerS: 50, sealSamples: 256, durationS: 1, checkMs: 500 }
type Sizes = typeof COURSE

const WINDOW = 64
const WARMUP_MS = 2000
const FILL_S = 0.1
/** Time until the log is sealed at the latest, in multiples of the time it takes to fill. */
const SEALED_TIMES = 3
const SEALED_LIMIT_MS = 60_000
const DELIVERY_LIMIT_MS = 10_000

/** Endurance of a 32 GB card, each cell of which can be written 3,000 times, in use 12 hours a day. */
const CARD_BYTES = 32e9 * 3000
const HOURS_A_YEAR = 12 * 365

const TARGETS = {
  bare: { cpuPercent: 10 },
  everything: { cpuPercent: 15, deviceGb: 1.5, processGb: 1.1, p99Ms: 60 },
}

interface Outcome {
  tookS: number
  /** Null if the machine has no separate disk for the benchmark. */
  device: DiskUse | null
  processBytes: number
  cpuS: number
  load: LoadResult
  /** Messages that did not reach the socket of their device. */
  undelivered: number
  rowsAtHeadOffice: number
}

/** Measures what a course with nothing but its devices writes. */
export function runBareDisk(context: ScenarioContext): Promise<ScenarioReport> {
  return run(context, 'bare')
}

/** Measures what a course with zones, watching users and a hub writes. */
export function runBusyDisk(context: ScenarioContext): Promise<ScenarioReport> {
  return run(context, 'everything')
}

async function run(context: ScenarioContext, kind: keyof typeof TARGETS): Promise<ScenarioReport> {
  const course = context.isShort ? SHORT_COURSE : COURSE
  const sizes = { ...course, durationS: context.durationS ?? course.durationS }
  const disk = await LoopDisk.create()
  if (typeof disk === 'string') {
    printProgress(`  no separate disk (${disk}): the journal of the file system is not counted`)
  }
  const own = typeof disk === 'string' ? null : disk
  const busy = kind === 'everything' ? await BusyCourse.create(context) : null
  const outcome = await measure(context, sizes, own, busy)
  await busy?.stop()
  await own?.remove()
  print(kind, sizes, outcome)
  return { figures: createFigures(kind, outcome, !context.isShort), raw: { ...sizes, ...outcome } }
}

async function measure(
  { bench, entry }: ScenarioContext,
  sizes: Sizes,
  disk: LoopDisk | null,
  busy: BusyCourse | null,
): Promise<Outcome> {
  const dataDir = disk === null ? bench.createFolder('disk') : join(disk.folder, 'data')
  mkdirSync(dataDir, { recursive: true })
  const env = { CARTBARN_SEAL_SAMPLES: String(sizes.sealSamples), ...busy?.env }
  const gateway = await startGateway(bench, { entry, dataDir, env })
  const { pid } = gateway.process
  const devices = await gateway.api.registerDevices(sizes.devices)
  await busy?.drawZones(gateway.api, devices)
  await fillLog(bench, gateway, devices, sizes.sealSamples)
  await untilSealed(gateway, 0, SEALED_LIMIT_MS, sizes.checkMs)
  await busy?.openSockets(gateway, devices)

  const load = startDeviceLoad(bench, gateway, devices, sizes.perDevicePerS, { warmupS: null })
  await load.connected()
  await sleep(WARMUP_MS)
  load.measure()
  await load.measuring()
  const use = () => ({
    device: disk?.use() ?? null,
    processBytes: readWrittenBytes(pid).toDisk,
    cpuS: readCpuSeconds(pid),
    atMs: performance.now(),
  })
  const before = use()
  printProgress(`  measuring for ${sizes.durationS} s, and until the log is sealed again`)
  const fillsInMs = (sizes.sealSamples / (sizes.devices * sizes.perDevicePerS)) * 1000
  const limitMs = SEALED_TIMES * fillsInMs + SEALED_LIMIT_MS
  await sleep(sizes.durationS * 1000)
  await untilSealed(gateway, await countSealed(gateway), limitMs, sizes.checkMs)
  const after = use()
  load.stop()
  const result = await load.result()
  if (busy !== null) {
    const isDelivered = async () => (await busy.received()) >= result.acknowledged
    await waitUntil(isDelivered, DELIVERY_LIMIT_MS, sizes.checkMs)
  }
  const undelivered = busy === null ? 0 : result.acknowledged - (await busy.closeSockets())
  const rowsAtHeadOffice = (await busy?.rowsAtHeadOffice()) ?? 0
  await gateway.process.stop()
  return {
    tookS: (after.atMs - before.atMs) / 1000,
    device: differenceOf(before.device, after.device),
    processBytes: after.processBytes - before.processBytes,
    cpuS: after.cpuS - before.cpuS,
    load: result,
    undelivered,
    rowsAtHeadOffice,
  }
}

function differenceOf(before: DiskUse | null, after: DiskUse | null): DiskUse | null {
  if (before === null || after === null) return null
  return {
    writtenBytes: after.writtenBytes - before.writtenBytes,
    flushes: after.flushes - before.flushes,
  }
}

/** Waits until more samples are sealed: between the ends of two sealings everything a message causes is included. */
async function untilSealed(gateway: GatewayProcess, samples: number, limitMs: number, checkMs: number): Promise<void> {
  const isSealed = async () => (await countSealed(gateway)) > samples
  await mustReach(isSealed, limitMs, 'the gateway does not seal its log', checkMs)
}

async function countSealed({ api }: GatewayProcess): Promise<number> {
  return (await api.sealing())?.records ?? 0
}

/** Fills the log at full speed. */
async function fillLog(
  bench: ScenarioContext['bench'],
  { ports, api }: GatewayProcess,
  clients: readonly BenchDevice[],
  samples: number,
): Promise<void> {
  const plan = { port: ports.mqtt, clients, window: WINDOW, notBeforeMs: 0 }
  const load = await startFullSpeed(bench, plan)
  const isFull = async () => (await api.gpsCount()) > samples
  await mustReach(isFull, SEALED_LIMIT_MS, 'the log does not fill', FILL_S * 1000)
  await load.call('finish')
  await load.stop()
}

function print(kind: string, { devices, perDevicePerS }: Sizes, outcome: Outcome): void {
  const { load, tookS } = outcome
  const hourly = rateOf(outcome)
  const unknown = 'not counted'
  printTable(
    `Disk, ${kind}: ${devices} devices x ${perDevicePerS}/s, ${tookS.toFixed(0)} s`,
    ['', 'process GB/h', 'device GB/h', 'flushes/h', 'ack p50 ms', 'ack p99 ms', 'CPU'],
    [
      [
        kind,
        hourly.processGb.toFixed(2),
        hourly.deviceGb?.toFixed(2) ?? unknown,
        hourly.flushes === null ? unknown : formatCount(hourly.flushes),
        formatMs(load.measured.sinceWrite.p50Ms),
        formatMs(load.measured.sinceWrite.p99Ms),
        formatPercent(outcome.cpuS / tookS),
      ],
    ],
  )
}

function rateOf({ device, processBytes, tookS }: Outcome) {
  const anHour = 3600 / tookS
  return {
    processGb: (processBytes * anHour) / 1e9,
    deviceGb: device === null ? null : (device.writtenBytes * anHour) / 1e9,
    flushes: device === null ? null : device.flushes * anHour,
  }
}

function createFigures(kind: keyof typeof TARGETS, outcome: Outcome, isJudged: boolean): Figure[] {
  const { load, tookS } = outcome
  const hourly = rateOf(outcome)
  const judged = (what: string, value: number, target: number | undefined, unit: string): Figure => {
    const name = `disk, ${kind}: ${what}`
    return target === undefined
      ? withoutTarget(name, `${value.toFixed(2)}${unit}`)
      : atMost(name, value, target, { unit, digits: 2, isJudged })
  }
  const target: Partial<(typeof TARGETS)['everything']> = TARGETS[kind]
  const { deviceGb, flushes } = hourly
  const cardGb = deviceGb ?? hourly.processGb
  const years = CARD_BYTES / (cardGb * 1e9 * HOURS_A_YEAR)
  return [
    ...(deviceGb === null ? [] : [judged('bytes of the block device', deviceGb, target.deviceGb, ' GB/h')]),
    judged('bytes of the process', hourly.processGb, target.processGb, ' GB/h'),
    ...(flushes === null ? [] : [withoutTarget(`disk, ${kind}: flushes an hour`, formatCount(flushes))]),
    withoutTarget(
      `disk, ${kind}: a card of 32 GB, 3,000 cycles, 12 hours a day`,
      `${years.toFixed(1)} years${deviceGb === null ? ', without the journal' : ''}`,
    ),
    judged('PUBACK p99', load.measured.sinceWrite.p99Ms, target.p99Ms, ' ms'),
    judged('CPU', (outcome.cpuS / tookS) * 100, target.cpuPercent, ' % of a core'),
    noneOf(`disk, ${kind}: not acknowledged`, load.sent - load.acknowledged + load.skipped),
    ...(kind === 'bare'
      ? []
      : [
          noneOf(`disk, ${kind}: not delivered to the socket of its device`, outcome.undelivered),
          withoutTarget(`disk, ${kind}: rows at the hub`, formatCount(outcome.rowsAtHeadOffice)),
        ]),
  ]
}
