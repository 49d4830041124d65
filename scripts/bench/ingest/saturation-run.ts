import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import type { LoadPlan, LoadResult } from '#scripts/rig/load/plan.ts'
import { LoadProcess } from '#scripts/rig/load/process.ts'
import { readCpuSeconds, readMachineTime, stolenSince } from '#scripts/rig/process-usage.ts'
import type { Workbench } from '#scripts/rig/processes.ts'

const WINDOW = 64
const WARMUP_S = 1

/** A broker to be saturated. */
export interface SaturationTarget {
  pid: number
  port: number
  devices: readonly BenchDevice[]
  durationS: number
  notBeforeMs: number
  /** The 99th percentile of the main thread's delay since the last call; absent where it is not ours. */
  readLoopDelayP99Ms?(): Promise<number>
}

/** What one saturated run came to. */
export interface SaturationRun {
  perS: number
  brokerCpuSPerMillion: number
  generatorCpuSPerMillion: number
  /** 1 is a whole core: near it the run measures the generator, not the gateway. */
  generatorCpuShare: number
  /** Share of the machine's time that its host gave to others meanwhile. */
  stolenShare: number
  /** Main thread; null where it is not ours. */
  loopDelayP99Ms: number | null
  load: LoadResult
}

/** Loads a broker as fast as it acknowledges, after a short warm-up. */
export async function saturate(bench: Workbench, target: SaturationTarget): Promise<SaturationRun> {
  const load = new LoadProcess(bench, createPlan(target))
  await load.connected()
  await load.measuring()
  await target.readLoopDelayP99Ms?.()
  const cpuBefore = readCpuSeconds(target.pid)
  const machineBefore = readMachineTime()
  const startedAtMs = performance.now()
  await load.measured()
  const cpuS = readCpuSeconds(target.pid) - cpuBefore
  const cpuPerS = cpuS / ((performance.now() - startedAtMs) / 1000)
  const stolenShare = stolenSince(machineBefore)
  const loopDelayP99Ms = (await target.readLoopDelayP99Ms?.()) ?? null
  const result = await load.result()

  const { acknowledged, durationS, cpuS: generatorCpuS } = result.measured
  const perS = acknowledged / durationS
  return {
    perS,
    brokerCpuSPerMillion: (cpuPerS / perS) * 1e6,
    generatorCpuSPerMillion: (generatorCpuS / acknowledged) * 1e6,
    generatorCpuShare: generatorCpuS / durationS,
    ...{ stolenShare, loopDelayP99Ms, load: result },
  }
}

function createPlan({ port, devices, durationS, notBeforeMs }: SaturationTarget): LoadPlan {
  return {
    ...{ port, clients: devices, session: 'bare', mode: { kind: 'saturate', window: WINDOW } },
    ...{ warmupS: WARMUP_S, durationS, notBeforeMs, keepsJournal: false },
  }
}
