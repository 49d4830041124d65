import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Figure, none } from '#scripts/rig/figures.ts'
import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import { countLost } from '#scripts/rig/load/beside.ts'
import { startDeviceLoad, startFullSpeed } from '#scripts/rig/load/process.ts'
import { LoopDisk } from '#scripts/rig/loop-disk.ts'
import { readCpuSeconds, readWrittenBytes } from '#scripts/rig/process-usage.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { measurement, type RunContext } from '#scripts/rig/scenario.ts'
import { mustReach, waitUntil } from '#scripts/rig/wait-until.ts'
import { drawZones, openSockets, startHubInMemory } from '../ingest/busy-course.ts'
import { WINDOW } from '../ingest/saturation-run.ts'
import type { SiteHub } from '../sync/environment.ts'

/** A course, or a small one that seals its log every few seconds. */
const COURSE = { devices: 200, perDevicePerS: 1, sealSamples: 32_768, checkMs: 5000 }
const SHORT_COURSE = { devices: 2, perDevicePerS: 50, sealSamples: 256, checkMs: 500 }

const WARMUP_S = 2
const FILL_MS = 100
/** Time until the log is sealed at the latest, in multiples of the time it takes to fill. */
const SEALED_TIMES = 3
const SEALED_LIMIT_MS = 60_000
const DELIVERY_LIMIT_MS = 10_000

/** Endurance of a 32 GB card, each cell of which can be written 3,000 times, in use 12 hours a day. */
const CARD_GB = 32 * 3000
const HOURS_A_YEAR = 12 * 365

const figures = {
  device: { what: 'written to the block device, with the journal', unit: ' GB/h', digits: 2 },
  process: { what: 'written by the process', unit: ' GB/h', digits: 2 },
  flushes: { what: 'flushes of the block device in an hour' },
  years: { what: 'life of a card of 32 GB, 3,000 cycles, 12 hours a day', unit: ' years', digits: 1 },
  p99: { what: 'PUBACK p99', unit: ' ms', digits: 1 },
  cpu: { what: 'CPU', unit: ' % of a core', digits: 1 },
  lost: none('messages not acknowledged, or not delivered to the socket of their device'),
} satisfies Record<string, Figure>

/** Measures what a course with nothing but its devices writes. */
export const bare = measurement({
  name: 'bare',
  summary: `${COURSE.devices} devices at ${COURSE.perDevicePerS} message a second, and nothing else`,
  durationS: [120, 1],
  figures: { ...figures, cpu: { ...figures.cpu, target: ['<=', 10] } },
  run: (context) => measure(context, null),
})

/** Measures what a course with zones, watching users and a hub writes. */
export const everything = measurement({
  name: 'everything',
  summary: 'the same with zones, 20 realtime sockets and a hub',
  durationS: [120, 1],
  figures: {
    ...figures,
    device: { ...figures.device, target: ['<=', 1.5] },
    process: { ...figures.process, target: ['<=', 1.1] },
    p99: { ...figures.p99, target: ['<=', 60] },
    cpu: { ...figures.cpu, target: ['<=', 15] },
    rows: { what: 'rows at the hub' },
  },
  async run(context) {
    const hub = await startHubInMemory(context.bench)
    const values = await measure(context, hub)
    const rows = await hub.rowsTaken()
    await hub.stop()
    return { ...values, rows }
  },
})

async function measure({ bench, entry, isShort, durationS }: RunContext, hub: SiteHub | null) {
  const { devices: count, perDevicePerS, sealSamples, checkMs } = isShort ? SHORT_COURSE : COURSE
  const disk = await LoopDisk.create()
  const own = typeof disk === 'string' ? null : disk
  if (own === null) printProgress(`  no separate disk (${disk}): the journal of the file system is not counted`)
  const dataDir = own === null ? bench.createFolder('disk') : join(own.folder, 'data')
  mkdirSync(dataDir, { recursive: true })
  const env = { CARTBARN_SEAL_SAMPLES: String(sealSamples), ...hub?.env }
  const gateway = await startGateway(bench, { entry, dataDir, env })
  const { api, process } = gateway
  const devices = await api.registerDevices(count)
  if (hub !== null) await drawZones(api, devices)
  await fillLog(bench, gateway, devices, sealSamples)
  const countSealed = async () => (await api.sealing())?.records ?? 0
  // between the ends of two sealings everything that a message causes is included
  const untilSealed = (samples: number, limitMs: number) =>
    mustReach(async () => (await countSealed()) > samples, limitMs, 'the gateway does not seal its log', checkMs)
  await untilSealed(0, SEALED_LIMIT_MS)
  const readers = hub && (await openSockets(bench, gateway, devices))

  const running = startDeviceLoad(bench, gateway, devices, perDevicePerS, { warmupS: WARMUP_S })
  await running.measuring()
  const use = () => ({
    ...(own?.use() ?? { writtenBytes: Number.NaN, flushes: Number.NaN }),
    processBytes: readWrittenBytes(process.pid).toDisk,
    cpuS: readCpuSeconds(process.pid),
    atMs: performance.now(),
  })
  const before = use()
  await sleep(durationS * 1000)
  const fillsInMs = (sealSamples / (count * perDevicePerS)) * 1000
  await untilSealed(await countSealed(), SEALED_TIMES * fillsInMs + SEALED_LIMIT_MS)
  const after = use()
  running.stop()
  const load = await running.result()
  const received = async () => (await readers?.call('result'))?.received ?? load.acknowledged
  await waitUntil(async () => (await received()) >= load.acknowledged, DELIVERY_LIMIT_MS, checkMs)
  const undelivered = Math.max(0, load.acknowledged - (await received()))
  await readers?.stop()
  await process.stop()
  await own?.remove()

  const tookS = (after.atMs - before.atMs) / 1000
  const hourly = (key: keyof typeof before) => ((after[key] - before[key]) / tookS) * 3600
  const processGb = hourly('processBytes') / 1e9
  const deviceGb = own && hourly('writtenBytes') / 1e9
  return {
    device: deviceGb,
    process: processGb,
    flushes: own && hourly('flushes'),
    years: CARD_GB / ((deviceGb ?? processGb) * HOURS_A_YEAR),
    p99: load.measured.sinceWrite.p99Ms,
    cpu: ((after.cpuS - before.cpuS) / tookS) * 100,
    lost: [countLost([load]), undelivered],
  }
}

/** Fills the log at full speed. */
async function fillLog(
  bench: Workbench,
  { ports, api }: GatewayProcess,
  clients: readonly BenchDevice[],
  samples: number,
): Promise<void> {
  const load = await startFullSpeed(bench, { port: ports.mqtt, clients, window: WINDOW, notBeforeMs: 0 })
  const isFull = async () => (await api.gpsCount()) > samples
  await mustReach(isFull, SEALED_LIMIT_MS, 'the log does not fill', FILL_MS)
  await load.call('finish')
  await load.stop()
}
