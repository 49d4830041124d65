import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import type { LatencySummary } from '#scripts/rig/latency.ts'
import type { FullSpeedTotals } from '#scripts/rig/load/full-speed-generator.ts'
import { startFullSpeed } from '#scripts/rig/load/process.ts'
import { readCpuSeconds, readMachineTime, stolenSince } from '#scripts/rig/process-usage.ts'
import type { Workbench } from '#scripts/rig/processes.ts'

/** Messages of a client that are not acknowledged yet. */
export const WINDOW = 64
/** Time until a broker has compiled what it needs. */
const WARMUP_MS = 1000
/** Share of the measured time, if that is short. */
const WARMUP_SHARE = 0.2

export interface SaturationTarget {
  pid: number
  port: number
  devices: readonly BenchDevice[]
  durationS: number
  notBeforeMs: number
  /** 99th percentile of the main thread's delay since the last call; absent for a foreign broker. */
  readLoopDelayP99Ms?(): Promise<number>
}

export interface SaturationRun {
  perS: number
  brokerCpuUs: number
  generatorCpuUs: number
  /** Share of a core; near 1 the run measures the generator, not the gateway. */
  generatorCpuShare: number
  /** Share of the machine's time that its host gave to others meanwhile. */
  stolenShare: number
  /** Main thread; null for a foreign broker. */
  loopDelayP99Ms: number | null
  sinceWrite: LatencySummary
  /** Warm-up and draining included. */
  totals: FullSpeedTotals
}

/** Waits until a loaded subject may be measured for that time. */
export async function warmUp(durationS: number): Promise<void> {
  await sleep(Math.min(WARMUP_MS, WARMUP_SHARE * durationS * 1000))
}

/** Loads a broker as fast as it acknowledges, after a short warm-up. */
export async function saturate(bench: Workbench, target: SaturationTarget): Promise<SaturationRun> {
  const { port, devices: clients, notBeforeMs, durationS } = target
  const load = await startFullSpeed(bench, { port, clients, notBeforeMs, window: WINDOW })
  await warmUp(durationS)
  await target.readLoopDelayP99Ms?.()
  const cpuBeforeS = readCpuSeconds(target.pid)
  const machineBefore = readMachineTime()
  const measured = await load.call('measure', durationS)
  const brokerCpuS = readCpuSeconds(target.pid) - cpuBeforeS
  const stolenShare = stolenSince(machineBefore)
  const loopDelayP99Ms = (await target.readLoopDelayP99Ms?.()) ?? null
  const totals = await load.call('finish')
  await load.stop()
  const { acknowledged, sinceWrite } = measured
  return {
    perS: acknowledged / measured.durationS,
    brokerCpuUs: (brokerCpuS / acknowledged) * 1e6,
    generatorCpuUs: (measured.cpuS / acknowledged) * 1e6,
    generatorCpuShare: measured.cpuS / measured.durationS,
    stolenShare,
    loopDelayP99Ms,
    sinceWrite,
    totals,
  }
}
