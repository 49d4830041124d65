import { fileURLToPath } from 'node:url'
import type { BenchProcess, Workbench } from '../processes.ts'
import { type LoadEvent, type LoadPlan, type LoadResult, loadEventSchema } from './plan.ts'

const CONNECT_LIMIT_MS = 120_000
const FINISH_LIMIT_MS = 60_000
const JOURNAL_LIMIT_MS = 10_000
const MS = 1000

/** A running load generator. */
export class LoadProcess {
  readonly #process: BenchProcess
  readonly #plan: LoadPlan

  constructor(bench: Workbench, plan: LoadPlan) {
    const script = fileURLToPath(new URL('./generator.ts', import.meta.url))
    this.#plan = plan
    this.#process = bench.spawn('load generator', process.execPath, [script])
    this.#process.writeLine(JSON.stringify(plan))
  }

  /** All clients have their session: at the start, and again after each outage. */
  async connected(): Promise<void> {
    await this.#next('connected', CONNECT_LIMIT_MS)
  }

  async measuring(): Promise<void> {
    await this.#next('measuring', CONNECT_LIMIT_MS)
  }

  async measured(): Promise<void> {
    await this.#next('measured', (this.#plan.durationS ?? 0) * MS + FINISH_LIMIT_MS)
  }

  /** Has the journal written as it is now. */
  async writeJournal(): Promise<void> {
    this.#process.writeLine('journal')
    await this.#next('journal', JOURNAL_LIMIT_MS)
  }

  stop(): void {
    this.#process.writeLine('stop')
  }

  /** Ends it at once, without a result. */
  kill(): void {
    this.#process.killNow()
  }

  async result(): Promise<LoadResult> {
    const event = await this.#next('result', FINISH_LIMIT_MS)
    await this.#process.exited
    if (event.event !== 'result') throw new Error('the load generator gave no result')
    return event.result
  }

  #next(wanted: LoadEvent['event'], limitMs: number): Promise<LoadEvent> {
    return this.#process.take(wanted, limitMs, (line) => {
      const event = loadEventSchema.parse(JSON.parse(line))
      return event.event === wanted ? event : undefined
    })
  }
}
