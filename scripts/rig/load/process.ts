import { ForkedScript } from '../calls.ts'
import type { BenchDevice } from '../gateway-api.ts'
import type { GatewayProcess } from '../gateway-process.ts'
import type { Workbench } from '../processes.ts'
import type { FullSpeedFunctions, FullSpeedPlan } from './full-speed-generator.ts'
import type { LoadFunctions } from './generator.ts'
import type { Journal, LoadPlan, LoadResult } from './plan.ts'

/** Beside the time it measures: to connect all clients, or to drain. */
const LIMIT_MS = 120_000
const MS = 1000

/** A running load generator. */
export class LoadProcess {
  readonly #script: ForkedScript<LoadFunctions>

  constructor(bench: Workbench, plan: LoadPlan) {
    const limitMs = ((plan.warmupS ?? 0) + (plan.durationS ?? 0)) * MS + LIMIT_MS
    const script = new URL('./generator.ts', import.meta.url)
    this.#script = new ForkedScript(bench, 'load generator', script, limitMs)
    this.#script.tell('start', plan)
  }

  /** All clients have their session: at the start, and again after each outage. */
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
    this.#script.tell('measure')
  }

  /** The messages acknowledged so far. */
  journal(): Promise<Journal> {
    return this.#script.call('journal')
  }

  stop(): void {
    this.#script.tell('stop')
  }

  /** Ends it at once, without a result. */
  kill(): void {
    this.#script.kill()
  }

  async result(): Promise<LoadResult> {
    return (await this.finish()).load
  }

  /** What it found, and all that was acknowledged where the plan says that it is remembered. */
  async finish(): Promise<{ load: LoadResult; journal: Journal }> {
    const [load, journal] = [await this.#script.call('result'), await this.#script.call('journal')]
    await this.#script.stop()
    return { load, journal }
  }
}

/**
 * Devices that send at an even pace as real ones do; without a warm-up and without an end unless `options` set them.
 */
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

/**
 * Devices that send as fast as they are acknowledged, in a process that costs little; resolves when all are sending.
 */
export async function startFullSpeed(bench: Workbench, plan: FullSpeedPlan): Promise<ForkedScript<FullSpeedFunctions>> {
  const script = new URL('./full-speed-generator.ts', import.meta.url)
  const load = new ForkedScript<FullSpeedFunctions>(bench, 'full-speed generator', script)
  await load.call('start', plan)
  return load
}
