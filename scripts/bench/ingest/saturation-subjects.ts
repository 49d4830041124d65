import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { readLoopDelayP99Ms, startGateway } from '#scripts/rig/gateway-process.ts'
import { findMosquitto, startMosquitto } from '#scripts/rig/mosquitto-process.ts'
import { printProgress } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { compileSlowFsync } from '#scripts/rig/slow-fsync.ts'
import { BusyCourse } from './busy-course.ts'
import { type SaturationRun, saturate } from './saturation-run.ts'

/** Name of a subject; the subjects are saturated alternately. */
export type SubjectName = 'gateway' | 'gateway, everything on' | 'mosquitto' | 'gateway, slow fsync'

export interface SubjectRun extends SaturationRun {
  subject: SubjectName
  clients: number
  /** Acknowledged samples that the gateway does not count as stored; any other value than 0 is a fault. */
  notStored: number | null
  /** Frames received by sockets and rows that the hub has; null without them. */
  beside: { frames: number; rows: number } | null
}

/** Broker that is saturated repeatedly. */
export interface Subject {
  name: SubjectName
  /** Starts it, loads it with that many clients, and stops it; it keeps its data from one run to the next. */
  measure(clients: number): Promise<SubjectRun>
  /** Stops its auxiliary processes. */
  stop?(): Promise<void>
}

interface SubjectOptions {
  context: ScenarioContext
  maxClients: number
  durationS: number
}

/** Returns the subjects this machine can measure. */
export async function createSubjects(options: SubjectOptions): Promise<Subject[]> {
  const { bench } = options.context
  const program = findMosquitto()
  const slowFsync = compileSlowFsync(bench)
  if (program === undefined) printProgress('  mosquitto not found: compared with nothing')
  if (slowFsync === undefined) printProgress('  C compiler not found: no run with a slow fsync')

  const busy = await BusyCourse.create(options.context)
  return [
    await createGatewaySubject('gateway', options),
    await createGatewaySubject('gateway, everything on', options, { busy }),
    ...(program === undefined ? [] : [createMosquittoSubject(program, options)]),
    ...(slowFsync === undefined
      ? []
      : [await createGatewaySubject('gateway, slow fsync', options, { preload: slowFsync })]),
  ]
}

async function createGatewaySubject(
  name: SubjectName,
  { context, maxClients, durationS }: SubjectOptions,
  { preload, busy }: { preload?: string; busy?: BusyCourse } = {},
): Promise<Subject> {
  const { bench, entry } = context
  const dataDir = bench.createFolder('saturation')
  const first = await startGateway(bench, { entry, dataDir })
  const devices = await first.api.registerDevices(maxClients)
  await busy?.drawZones(first.api, devices)
  await first.process.stop()
  let notBeforeMs = 0

  const measure = async (clients: number): Promise<SubjectRun> => {
    const gateway = await startGateway(bench, { entry, dataDir, preload, ...(busy && { env: busy.env }) })
    const { api } = gateway
    const used = devices.slice(0, clients)
    await busy?.openSockets(gateway, used)
    const storedBefore = await api.gpsCount()
    const run = await saturate(bench, {
      pid: gateway.process.pid,
      port: gateway.ports.mqtt,
      devices: used,
      durationS,
      notBeforeMs,
      readLoopDelayP99Ms: () => readLoopDelayP99Ms(api),
    })
    notBeforeMs = run.totals.newestSampleMs + 1
    const stored = (await api.gpsCount()) - storedBefore
    const beside = busy === undefined ? null : await countAlongside(busy)
    await gateway.process.stop()
    const notStored = Math.max(0, run.totals.acknowledged - stored)
    return { ...run, subject: name, clients, notStored, beside }
  }
  return { name, measure, stop: async () => busy?.stop() }
}

async function countAlongside(busy: BusyCourse): Promise<{ frames: number; rows: number }> {
  return { frames: await busy.closeSockets(), rows: await busy.rowsAtHeadOffice() }
}

function createMosquittoSubject(
  program: string,
  { context: { bench }, maxClients, durationS }: SubjectOptions,
): Subject {
  const folder = bench.createFolder('mosquitto')
  const devices = createAnonymousDevices(maxClients)
  const measure = async (clients: number): Promise<SubjectRun> => {
    const mosquitto = await startMosquitto(bench, program, folder)
    const run = await saturate(bench, {
      pid: mosquitto.process.pid,
      port: mosquitto.port,
      devices: devices.slice(0, clients),
      durationS,
      notBeforeMs: 0,
    })
    await mosquitto.process.stop()
    return { ...run, subject: 'mosquitto', clients, notStored: null, beside: null }
  }
  return { name: 'mosquitto', measure }
}

/** Devices of a broker that accepts anonymous clients. */
export function createAnonymousDevices(count: number): BenchDevice[] {
  return Array.from({ length: count }, (_, i) => ({
    hardwareId: `bench-${String(i).padStart(5, '0')}`,
    password: 'not-checked',
  }))
}
