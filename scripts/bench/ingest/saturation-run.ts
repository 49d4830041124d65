import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchDevice, GatewayApi } from '#scripts/rig/gateway-api.ts'
import { readLoopDelayP99Ms } from '#scripts/rig/gateway-process.ts'
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
  /** Gateway, for the delay of its main thread; absent for another broker. */
  api?: GatewayApi
}

export type SaturationRun = Awaited<ReturnType<typeof saturate>>

/** Waits until a loaded subject may be measured for that time. */
export async function warmUp(durationS: number): Promise<void> {
  await sleep(Math.min(WARMUP_MS, WARMUP_SHARE * durationS * 1000))
}

/** Loads a broker as fast as it acknowledges, after a short warm-up. */
export async function saturate(bench: Workbench, target: SaturationTarget) {
  const { pid, port, devices: clients, notBeforeMs, durationS, api } = target
  const load = await startFullSpeed(bench, { port, clients, notBeforeMs, window: WINDOW })
  await warmUp(durationS)
  if (api !== undefined) await readLoopDelayP99Ms(api)
  const [cpuBeforeS, machineBefore] = [readCpuSeconds(pid), readMachineTime()]
  const measured = await load.call('measure', durationS)
  const { acknowledged, sinceWrite } = measured
  const brokerCpuUs = ((readCpuSeconds(pid) - cpuBeforeS) / acknowledged) * 1e6
  const stolenShare = stolenSince(machineBefore)
  const loopDelayP99Ms = api === undefined ? 0 : await readLoopDelayP99Ms(api)
  // warm-up and draining included
  const totals = await load.call('finish')
  await load.stop()
  return {
    perS: acknowledged / measured.durationS,
    brokerCpuUs,
    /** Share of a core; near 1 the run measures the generator, not the broker. */
    generatorCpuShare: measured.cpuS / measured.durationS,
    /** Share of the machine's time that its host gave to others meanwhile. */
    stolenShare,
    loopDelayP99Ms,
    sinceWrite,
    totals,
  }
}
