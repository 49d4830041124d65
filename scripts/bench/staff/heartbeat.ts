import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import { startDeviceLoad, startFullSpeed } from '#scripts/rig/load/process.ts'
import { readMainThreadCpuSeconds } from '#scripts/rig/process-usage.ts'
import {
  atMost,
  type Figure,
  formatCount,
  median,
  printProgress,
  printTable,
  type ScenarioReport,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { openCourse, registerCarts } from '#scripts/rig/staff-course.ts'
import { monotonicUs, type ProfiledTime, profilingEnv, readMainThreadProfile, shareOf } from './cpu-profile.ts'

const DEVICES = 500
const SHORT_DEVICES = 20
const ROUNDS = 3
const DURATION_S = 10
/** Time until the code of the tick, which runs once a second, is compiled. */
const WARMUP_S = 20
const SHORT_WARMUP_S = 1
const INTERVAL_US = 200
const WINDOW = 64
const TARGET_US = 10
const SHOWN_FUNCTIONS = 5

/** Files of carts, alerts and automatic locks; their calls count too. */
const STAFF_FILES = /\/(?:gateway\/(?:services|domain|store)\/(?:carts?|alerts?|closing|auto-lock)\b|shared\/carts\/)/

interface Rate {
  name: string
  /** Messages per device and second; null for as many as are acknowledged. */
  perDevicePerS: number | null
}

const RATES: readonly Rate[] = [
  { name: '1 message a device and second', perDevicePerS: 1 },
  { name: 'full speed', perDevicePerS: null },
]

interface Run {
  rate: string
  perS: number
  /** Time of the main thread, per device and second. */
  staffUs: number
  dearest: [name: string, us: number][]
}

/** Measures carts, alerts and auto-lock on the main thread by profiles: they cost less than the spread of two runs. */
export async function runHeartbeat(context: ScenarioContext): Promise<ScenarioReport> {
  const { isShort } = context
  const rounds = context.rounds ?? (isShort ? 1 : ROUNDS)
  const durationS = context.durationS ?? (isShort ? 1 : DURATION_S)
  const warmupS = isShort ? SHORT_WARMUP_S : WARMUP_S
  const count = isShort ? SHORT_DEVICES : DEVICES
  const dataDir = context.bench.createFolder('heartbeat')
  const first = await startGateway(context.bench, { entry: context.entry, dataDir })
  await openCourse(first)
  const devices = await registerCarts(first, { count, deviceType: 'teebox', id: 'cart' })
  await first.process.stop()
  const runs: Run[] = []
  let notBeforeMs = 0
  for (let round = 0; round < rounds; round++) {
    for (const rate of RATES) {
      const run = await measure(context, { dataDir, devices, rate, warmupS, durationS, notBeforeMs })
      notBeforeMs = Date.now() + 1
      printProgress(`  ${run.rate}: ${formatCount(run.perS)}/s, ${run.staffUs.toFixed(1)} us`)
      runs.push(run)
    }
  }
  print(runs)
  return { figures: createFigures(runs, !isShort), raw: { rounds, durationS, runs } }
}

interface Measured {
  dataDir: string
  devices: readonly BenchDevice[]
  rate: Rate
  warmupS: number
  durationS: number
  notBeforeMs: number
}

async function measure(context: ScenarioContext, given: Measured): Promise<Run> {
  const { bench, entry } = context
  const { dataDir, devices, rate } = given
  const folder = bench.createFolder('profiles')
  const env = profilingEnv(folder, INTERVAL_US)
  const gateway = await startGateway(bench, { entry, dataDir, env })
  const { pid } = gateway.process
  const { perS, time, cpuS } = await load(context, gateway, given)
  await gateway.process.stop()
  const profile = readMainThreadProfile(folder, pid)
  const { share, byFunction } = shareOf(profile, (url) => STAFF_FILES.test(url), time)
  const deviceSeconds = devices.length * ((time.toUs - time.fromUs) / 1e6)
  const usOf = (each: number) => (each * cpuS * 1e6) / deviceSeconds
  const dearest = [...byFunction].map(([name, s]): [string, number] => [name, usOf(s)]).sort(([, a], [, b]) => b - a)
  return {
    rate: rate.name,
    perS,
    staffUs: usOf(share),
    dearest: dearest.slice(0, SHOWN_FUNCTIONS),
  }
}

/** Measurements while the devices sent. */
interface Loaded {
  perS: number
  time: ProfiledTime
  /** CPU seconds of the main thread. */
  cpuS: number
}

async function load({ bench }: ScenarioContext, gateway: GatewayProcess, given: Measured): Promise<Loaded> {
  const { devices, warmupS, durationS, notBeforeMs } = given
  const { perDevicePerS } = given.rate
  const { pid } = gateway.process
  if (perDevicePerS !== null) {
    const options = { warmupS, durationS }
    const running = startDeviceLoad(bench, gateway, devices, perDevicePerS, options)
    await running.measuring()
    const { time, cpuS } = await during(pid, () => running.measured())
    const { measured } = await running.result()
    return { perS: measured.acknowledged / measured.durationS, time, cpuS }
  }
  const plan = { port: gateway.ports.mqtt, clients: devices, notBeforeMs, window: WINDOW }
  const running = await startFullSpeed(bench, plan)
  await sleep(warmupS * 1000)
  const { result: measured, time, cpuS } = await during(pid, () => running.call('measure', durationS))
  await running.call('finish')
  await running.stop()
  return { perS: measured.acknowledged / measured.durationS, time, cpuS }
}

async function during<Result>(pid: number, work: () => Promise<Result>) {
  const [fromUs, cpuBeforeS] = [monotonicUs(), readMainThreadCpuSeconds(pid)]
  const result = await work()
  return { result, time: { fromUs, toUs: monotonicUs() }, cpuS: readMainThreadCpuSeconds(pid) - cpuBeforeS }
}

function runsOf(runs: readonly Run[], rate: Rate): Run[] {
  return runs.filter((run) => run.rate === rate.name)
}

function print(runs: readonly Run[]): void {
  const rows = RATES.map((rate) => {
    const own = runsOf(runs, rate)
    return [rate.name, formatCount(median(own.map(({ perS }) => perS))), usOf(own).toFixed(1)]
  })
  printTable('Carts, alerts and auto-lock', ['medians', 'messages/s', 'us a device and second'], rows)
  for (const { rate, dearest } of runs.slice(-RATES.length))
    printProgress(`  ${rate}: ${dearest.map(([name, us]) => `${us.toFixed(1)} us ${name}`).join(', ')}`)
}

function usOf(runs: readonly Run[]): number {
  return median(runs.map(({ staffUs }) => staffUs))
}

function createFigures(runs: readonly Run[], isJudged: boolean): Figure[] {
  return RATES.map((rate) => {
    const own = runsOf(runs, rate)
    const detail = `${formatCount(median(own.map(({ perS }) => perS)))} messages/s`
    return atMost(`staff: main thread a device and second, ${rate.name}`, usOf(own), TARGET_US, {
      unit: ' us',
      digits: 1,
      detail,
      isJudged,
    })
  })
}
