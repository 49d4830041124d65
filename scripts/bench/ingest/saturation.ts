import { none } from '#scripts/rig/figures.ts'
import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { type GatewayOptions, startGateway } from '#scripts/rig/gateway-process.ts'
import { findMosquitto, startMosquitto } from '#scripts/rig/mosquitto-process.ts'
import { compileSlowFsync } from '#scripts/rig/preload.ts'
import { formatCount, printProgress } from '#scripts/rig/report.ts'
import { alternate } from '#scripts/rig/rounds.ts'
import { measurement, type RunContext, type Scenario } from '#scripts/rig/scenario.ts'
import type { SiteHub } from '../sync/environment.ts'
import { drawZones, openSockets, startHubInMemory } from './busy-course.ts'
import { type SaturationRun, saturate } from './saturation-run.ts'

const SHORT_CLIENTS = 20

/** Measures a fleet that sends as fast as it is acknowledged. */
export const saturation = atFullSpeed('saturation', 500)

/** Measures fewer clients than a fleet. */
export const fewClients = atFullSpeed('few-clients', 50)

function atFullSpeed(name: string, clients: number): Scenario {
  return measurement({
    name,
    summary: `${clients} clients as fast as they are acknowledged, QoS 1, compared with Mosquitto`,
    rounds: 5,
    durationS: [8, 0.5],
    figures: {
      rate: { what: 'acknowledged', unit: '/s' },
      cpu: { what: 'CPU for each message', unit: ' us', target: ['<=', 6], digits: 1 },
      ratio: { what: 'acknowledged, gateway : Mosquitto, which stores nothing', digits: 2, target: ['>=', 2] },
      busyRatio: {
        what: 'the same with zones, 20 realtime sockets and a hub : Mosquitto',
        digits: 2,
        target: ['>=', 1],
      },
      loopDelay: { what: 'delay of the main thread p99 with 10 ms fsyncs', unit: ' ms', target: ['<', 5], digits: 1 },
      generator: { what: 'CPU of the load generator', unit: ' % of a core', by: 'most' },
      stolen: { what: 'time that the host of the machine gave to others', unit: ' %', by: 'most' },
      rows: { what: 'rows replicated to the hub' },
      notStored: none('messages acknowledged and not stored'),
    },
    async run(context) {
      const count = context.isShort ? SHORT_CLIENTS : clients
      const hub = await startHubInMemory(context.bench)
      const preload = compileSlowFsync(context.bench)
      const subjects = [
        await gatewaySubject(context, count, 'gateway'),
        await gatewaySubject(context, count, 'gateway, everything on', { env: hub.env }, hub),
        mosquittoSubject(context, count),
        preload === undefined ? undefined : await gatewaySubject(context, count, 'gateway, slow fsync', { preload }),
      ]
      const runs = await alternate(context.rounds, subjects, async (measure) => measure?.())
      const [own = [], everything = [], mosquitto = [], slow = []] = runs.map((those) =>
        those.filter((run) => run !== undefined),
      )
      const rows = await hub.rowsTaken()
      await hub.stop()
      // consecutive runs had the same conditions on the machine
      const toMosquitto = (those: Run[]) => mosquitto.map(({ perS }, round) => (those[round]?.perS ?? 0) / perS)
      const all = [...own, ...everything, ...mosquitto, ...slow]
      return {
        rate: own.map(({ perS }) => perS),
        cpu: own.map(({ brokerCpuUs }) => brokerCpuUs),
        ratio: toMosquitto(own),
        busyRatio: toMosquitto(everything),
        loopDelay: slow.map(({ loopDelayP99Ms }) => loopDelayP99Ms),
        generator: all.map(({ generatorCpuShare }) => generatorCpuShare * 100),
        stolen: all.map(({ stolenShare }) => stolenShare * 100),
        rows,
        notStored: all.map(({ notStored }) => notStored),
      }
    },
  })
}

interface Run extends SaturationRun {
  /** Acknowledged samples that the gateway does not count as stored. */
  notStored: number
}

/** Starts a broker, loads it and stops it; it keeps its data from one run to the next. */
type Subject = () => Promise<Run>

async function gatewaySubject(
  { bench, entry, durationS }: RunContext,
  clients: number,
  name: string,
  more: Partial<GatewayOptions> = {},
  hub?: SiteHub,
): Promise<Subject> {
  const options = { entry, dataDir: bench.createFolder('saturation'), ...more }
  const first = await startGateway(bench, options)
  const devices = await first.api.registerDevices(clients)
  if (hub !== undefined) await drawZones(first.api, devices)
  await first.process.stop()
  let notBeforeMs = 0
  return async () => {
    const gateway = await startGateway(bench, options)
    const { api, ports, process } = gateway
    const readers = hub && (await openSockets(bench, gateway, devices))
    const storedBefore = await api.gpsCount()
    const target = { pid: process.pid, port: ports.mqtt, devices, durationS, notBeforeMs, api }
    const run = await saturate(bench, target)
    notBeforeMs = run.totals.newestSampleMs + 1
    const stored = (await api.gpsCount()) - storedBefore
    await readers?.stop()
    await process.stop()
    printProgress(`  ${name}: ${formatCount(run.perS)}/s`)
    return { ...run, notStored: Math.max(0, run.totals.acknowledged - stored) }
  }
}

/** Returns undefined if the machine has no Mosquitto. */
function mosquittoSubject({ bench, durationS }: RunContext, clients: number): Subject | undefined {
  const program = findMosquitto()
  if (program === undefined) return undefined
  const folder = bench.createFolder('mosquitto')
  const devices = createAnonymousDevices(clients)
  return async () => {
    const { process, port } = await startMosquitto(bench, program, folder)
    const run = await saturate(bench, { pid: process.pid, port, devices, durationS, notBeforeMs: 0 })
    await process.stop()
    printProgress(`  Mosquitto: ${formatCount(run.perS)}/s`)
    return { ...run, notStored: 0 }
  }
}

/** Devices of a broker that accepts anonymous clients. */
export function createAnonymousDevices(count: number): BenchDevice[] {
  return Array.from({ length: count }, (_, i) => ({
    hardwareId: `bench-${String(i).padStart(5, '0')}`,
    password: 'not-checked',
  }))
}
