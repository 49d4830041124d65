import { ForkedScript } from '#scripts/rig/calls.ts'
import { cpuShareDuring } from '#scripts/rig/cpu-share.ts'
import { type Figure, none } from '#scripts/rig/figures.ts'
import { ADMIN_KEY, startGateway } from '#scripts/rig/gateway-process.ts'
import { countLost } from '#scripts/rig/load/beside.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { readMainThreadCpuSeconds } from '#scripts/rig/process-usage.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { measurement, type RunContext } from '#scripts/rig/scenario.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import type { ReaderFunctions } from './readers.ts'

const SIZES = { sockets: 500, devices: 200 }
const SHORT = { sockets: 50, devices: 20 }
const PER_DEVICE_PER_S = 5
const WARMUP_S = 2
const DELIVERY_LIMIT_MS = 30_000
/** Two runs of 10 s are more reliable than one of 20, because the other load of the machine changes. */
const DURATION_S = [10, 3] as const
const mainThread = { unit: ' % of a core', digits: 1 }
const ms = { unit: ' ms', digits: 1 }
const FIGURES = {
  unacknowledged: none('messages not acknowledged'),
  undelivered: none('messages not delivered to a socket'),
  closed: none('sockets closed'),
  mainThread: { ...mainThread, what: 'main thread', target: ['<=', 30] },
  mainThreadAlone: { ...mainThread, what: 'main thread without sockets' },
  p99Ratio: { what: 'PUBACK p99 with sockets : without', digits: 2, target: ['<=', 2] },
  p99Alone: { ...ms, what: 'PUBACK p99 without sockets' },
  deliveryP50: { ...ms, what: 'from a sample to its arrival at a socket, p50' },
} satisfies Record<string, Figure>

export const everything = measurement({
  name: 'everything',
  summary: '500 sockets on everything, 1,000 messages a second',
  durationS: DURATION_S,
  figures: FIGURES,
  run: (context) => run(context, () => ['*']),
})

export const named = measurement({
  name: 'named',
  summary: 'the same with sockets that name every device',
  durationS: DURATION_S,
  figures: FIGURES,
  run: (context) => run(context, (hardwareIds) => hardwareIds),
})

type Names = (hardwareIds: readonly string[]) => readonly string[]

async function run(context: RunContext, names: Names) {
  const alone = await measure(context, 0, names)
  const read = await measure(context, (context.isShort ? SHORT : SIZES).sockets, names)
  return {
    unacknowledged: countLost([read.load]),
    undelivered: read.undelivered,
    closed: read.closed,
    mainThread: read.mainThread * 100,
    mainThreadAlone: alone.mainThread * 100,
    p99Ratio: read.p99Ms / alone.p99Ms,
    p99Alone: alone.p99Ms,
    deliveryP50: read.deliveryP50Ms,
  }
}

/** Measures a load whose messages that many sockets receive. */
async function measure({ bench, entry, isShort, durationS }: RunContext, sockets: number, names: Names) {
  printProgress(`  ${sockets} sockets, ${durationS} s`)
  const env = { CARTBARN_USER_REALTIME_SOCKETS: String(Math.max(1, sockets)) }
  const gateway = await startGateway(bench, { entry, dataDir: bench.createFolder('realtime'), env })
  const clients = await gateway.api.registerDevices((isShort ? SHORT : SIZES).devices)
  const readers = new ForkedScript<ReaderFunctions>(bench, new URL('./readers.ts', import.meta.url))
  const hardwareIds = names(clients.map(({ hardwareId }) => hardwareId))
  await readers.call('subscribe', { port: gateway.ports.http, apiKey: ADMIN_KEY, sockets, hardwareIds })
  const running = startDeviceLoad(bench, gateway, clients, PER_DEVICE_PER_S, { warmupS: WARMUP_S, durationS })
  await running.measuring()
  const readCpuS = () => readMainThreadCpuSeconds(gateway.process.pid)
  const mainThread = await cpuShareDuring(readCpuS, () => running.measured())
  const load = await running.result()
  const expected = load.acknowledged * sockets
  const isDelivered = async () => (await readers.call('result')).received >= expected
  await waitUntil(isDelivered, DELIVERY_LIMIT_MS, 100)
  const { received, closed, delivery } = await readers.call('result')
  await Promise.all([readers.stop(), gateway.process.stop()])
  const { p99Ms } = load.measured.sinceDue
  return { load, mainThread, p99Ms, undelivered: expected - received, closed, deliveryP50Ms: delivery.p50Ms }
}
