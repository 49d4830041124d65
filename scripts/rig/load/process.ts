import { ForkedScript } from '../calls.ts'
import type { BenchDevice } from '../gateway-api.ts'
import type { GatewayProcess } from '../gateway-process.ts'
import type { Workbench } from '../processes.ts'
import type { FullSpeedFunctions, FullSpeedPlan } from './full-speed-generator.ts'
import type { LoadFunctions } from './generator.ts'
import type { Journal, LoadPlan, LoadResult } from './plan.ts'

/** Limit in addition to the measured time: to connect all clients, or to drain. */
const LIMIT_MS = 120_000
const MS = 1000

export class LoadProcess {
  readonly #script: ForkedScript<LoadFunctions>

  constructor(bench: Workbench, plan: LoadPlan) {
    const limitMs = ((plan.warmupS ?? 0) + (plan.durationS ?? 0)) * MS + LIMIT_MS
    this.#script = new ForkedScript(bench, new URL('./generator.ts', import.meta.url), limitMs)
    this.#script.post('start', plan)
  }

  /** Resolves when all clients have their session: at the start, and again after each outage. */
  connected(): Promise<void> {
    return this.#script.call('connected')
  }

  measuring(): Promise<void> {
    return this.#script.call('measuring')
  }

  measured(): Promise<void> {
    return this.#script.call('measured')
  }

  /** Ends a warm-up without a length. */
  measure(): void {
    this.#script.post('measure')
  }

  journal(): Promise<Journal> {
    return this.#script.call('journal')
  }

  stop(): void {
    this.#script.post('stop')
  }

  /** Kills it immediately, without a result. */
  kill(): void {
    this.#script.kill()
  }

  async result(): Promise<LoadResult> {
    return (await this.finish()).load
  }

  /** Returns the results, and all acknowledged messages if the plan keeps a journal. */
  async finish(): Promise<{ load: LoadResult; journal: Journal }> {
    const [load, journal] = [await this.#script.call('result'), await this.#script.call('journal')]
    await this.#script.stop()
    return { load, journal }
  }
}

/** Starts devices that send at an even rate; without a warm-up and without an end unless `options` set them. */
export function startDeviceLoad(
  bench: Workbench,
  gateway: GatewayProcess,
  clients: readonly BenchDevice[],
  perDevicePerS: number,
  options: Partial<Pick<LoadPlan, 'warmupS' | 'durationS' | 'keepsJournal'>> = {},
): LoadProcess {
  return new LoadProcess(bench, {
    port: gateway.ports.mqtt,
    clients,
    session: 'device',
    perClientPerS: perDevicePerS,
    warmupS: 0,
    durationS: null,
    notBeforeMs: 0,
    keepsJournal: false,
    ...options,
  })
}

/** Starts devices that send as fast as they are acknowledged, in a cheap process; resolves when all are sending. */
export async function startFullSpeed(bench: Workbench, plan: FullSpeedPlan): Promise<ForkedScript<FullSpeedFunctions>> {
  const load = new ForkedScript<FullSpeedFunctions>(bench, new URL('./full-speed-generator.ts', import.meta.url))
  await load.call('start', plan)
  return load
}
