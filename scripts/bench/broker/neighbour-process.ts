import { fileURLToPath } from 'node:url'
import type { BenchProcess, Workbench } from '#scripts/rig/processes.ts'
import { type NeighbourEvent, type NeighbourPlan, neighbourEventSchema } from './neighbour-plan.ts'

const ANSWER_LIMIT_MS = 30_000

/** A running neighbour. */
export class NeighbourProcess {
  readonly #process: BenchProcess

  constructor(bench: Workbench, plan: NeighbourPlan) {
    const script = fileURLToPath(new URL('./neighbour.ts', import.meta.url))
    this.#process = bench.spawn(plan.kind, process.execPath, [script])
    this.#process.writeLine(JSON.stringify(plan))
  }

  async started(): Promise<void> {
    await this.#next('started')
  }

  /** Ends it and returns what it did. */
  async finish(): Promise<NeighbourEvent> {
    this.#process.writeLine('stop')
    const result = await this.#next('result')
    await this.#process.exited
    return result
  }

  #next(wanted: NeighbourEvent['event']): Promise<NeighbourEvent> {
    return this.#process.take(wanted, ANSWER_LIMIT_MS, (line) => {
      const event = neighbourEventSchema.parse(JSON.parse(line))
      return event.event === wanted ? event : undefined
    })
  }
}
