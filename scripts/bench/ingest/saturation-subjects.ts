import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { readLoopDelayP99Ms, startGateway } from '#scripts/rig/gateway-process.ts'
import { findMosquitto, startMosquitto } from '#scripts/rig/mosquitto-process.ts'
import { printProgress } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { compileSlowFsync } from '#scripts/rig/slow-fsync.ts'
import { type SaturationRun, saturate } from './saturation-run.ts'

/** The subjects that are saturated in turn. */
export type SubjectName = 'gateway' | 'mosquitto' | 'gateway, slow fsync'

/** One run of one subject. */
export interface SubjectRun extends SaturationRun {
  subject: SubjectName
  clients: number
  /** Acknowledged samples that the gateway does not count as stored: 0, or something is wrong. */
  notStored: number | null
}

/** Starts the subject, loads it with that many clients, and stops it. */
export type MeasureSubject = (clients: number) => Promise<SubjectRun>

/** The subjects this machine can measure; each keeps its data from one run to the next. */
export async function createSubjects(
  context: ScenarioContext,
  maxClients: number,
  durationS: number,
): Promise<MeasureSubject[]> {
  const program = findMosquitto()
  const slowFsync = compileSlowFsync(context.bench)
  if (program === undefined) printProgress('  no mosquitto here: nothing to compare with')
  if (slowFsync === undefined) printProgress('  no C compiler here: no run with a slow fsync')

  const options = { context, maxClients, durationS }
  const subjects = [await createGatewaySubject({ ...options, subject: 'gateway' })]
  if (program !== undefined) subjects.push(createMosquittoSubject({ ...options, program }))
  if (slowFsync !== undefined) {
    const slow = { ...options, subject: 'gateway, slow fsync', preload: slowFsync } as const
    subjects.push(await createGatewaySubject(slow))
  }
  return subjects
}

interface SubjectOptions {
  context: ScenarioContext
  maxClients: number
  durationS: number
}

async function createGatewaySubject(
  options: SubjectOptions & { subject: SubjectName; preload?: string },
): Promise<MeasureSubject> {
  const { context, subject, durationS, preload } = options
  const { bench, entry } = context
  const dataDir = bench.createFolder('saturation')
  const first = await startGateway(bench, { entry, dataDir })
  const devices = await first.api.registerDevices(options.maxClients)
  await first.process.stop()
  let notBeforeMs = 0

  return async (clients) => {
    const gateway = await startGateway(bench, { entry, dataDir, preload })
    const { api } = gateway
    const storedBefore = await api.gpsCount()
    const run = await saturate(bench, {
      pid: gateway.process.pid,
      port: gateway.ports.mqtt,
      devices: devices.slice(0, clients),
      durationS,
      notBeforeMs,
      readLoopDelayP99Ms: () => readLoopDelayP99Ms(api),
    })
    notBeforeMs = run.load.newestSampleMs + 1
    const stored = (await api.gpsCount()) - storedBefore
    const notStored = Math.max(0, run.load.acknowledged - stored)
    await gateway.process.stop()
    return { ...run, subject, clients, notStored }
  }
}

function createMosquittoSubject(options: SubjectOptions & { program: string }): MeasureSubject {
  const { bench } = options.context
  const folder = bench.createFolder('mosquitto')
  const devices = createAnonymousDevices(options.maxClients)
  return async (clients) => {
    const mosquitto = await startMosquitto(bench, options.program, folder)
    const run = await saturate(bench, {
      pid: mosquitto.process.pid,
      port: mosquitto.port,
      devices: devices.slice(0, clients),
      durationS: options.durationS,
      notBeforeMs: 0,
    })
    await mosquitto.process.stop()
    return { ...run, subject: 'mosquitto', clients, notStored: null }
  }
}

function createAnonymousDevices(count: number): BenchDevice[] {
  return Array.from({ length: count }, (_, i) => ({
    hardwareId: `bench-${String(i).padStart(5, '0')}`,
    password: 'not-checked',
  }))
}
