import { fileURLToPath } from 'node:url'
import type { BenchProcess, Workbench } from '#scripts/rig/processes.ts'
import {
  type StormKind,
  type StormResult,
  type SwarmEvent,
  type SwarmPlan,
  swarmEventSchema,
} from './swarm-plan.ts'

const CONNECT_LIMIT_MS = 120_000

/** A running swarm. */
export class SwarmProcess {
  readonly #process: BenchProcess

  constructor(bench: Workbench, plan: SwarmPlan) {
    const script = fileURLToPath(new URL('./swarm.ts', import.meta.url))
    this.#process = bench.spawn('swarm', process.execPath, [script])
    this.#process.writeLine(JSON.stringify(plan))
  }

  /** All are connected and subscribed; throws if one was refused a subscription. */
  async connected(): Promise<void> {
    const event = await this.#next('connected')
    if (event.event === 'connected' && event.refusedSubscriptions > 0)
      throw new Error(`${event.refusedSubscriptions} subscriptions refused`)
  }

  async storm(kind: StormKind): Promise<StormResult> {
    this.#process.writeLine(kind)
    const event = await this.#next('storm')
    if (event.event !== 'storm') throw new Error('the swarm gave no result')
    return event.result
  }

  stop(): Promise<void> {
    return this.#process.stop()
  }

  #next(wanted: SwarmEvent['event']): Promise<SwarmEvent> {
    return this.#process.take(wanted, CONNECT_LIMIT_MS, (line) => {
      const event = swarmEventSchema.parse(JSON.parse(line))
      return event.event === wanted ? event : undefined
    })
  }
}
