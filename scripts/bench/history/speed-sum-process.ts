import { fileURLToPath } from 'node:url'
import type { BenchProcess, Workbench } from '#scripts/rig/processes.ts'
import { type SpeedSumPlan, type SpeedSumResult, speedSumResultSchema } from './speed-sum-plan.ts'

const CREATE_LIMIT_MS = 300_000
const LIMIT_MS = 60_000

/** SQLite with the fixes of one device as rows, in a process of its own. */
export class SpeedSumProcess {
  readonly #process: BenchProcess

  private constructor(process: BenchProcess) {
    this.#process = process
  }

  /** Resolves when the rows are there and were read once. */
  static async start(bench: Workbench, plan: SpeedSumPlan): Promise<SpeedSumProcess> {
    const script = fileURLToPath(new URL('./speed-sum.ts', import.meta.url))
    const summing = new SpeedSumProcess(bench.spawn('SQLite', process.execPath, [script]))
    await summing.#ask(JSON.stringify(plan), CREATE_LIMIT_MS)
    return summing
  }

  run(): Promise<SpeedSumResult> {
    return this.#ask('again', LIMIT_MS)
  }

  stop(): Promise<void> {
    return this.#process.stop()
  }

  #ask(line: string, limitMs: number): Promise<SpeedSumResult> {
    this.#process.writeLine(line)
    return this.#process.take('sum', limitMs, (answer) => speedSumResultSchema.parse(JSON.parse(answer)))
  }
}
