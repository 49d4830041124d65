import { fileURLToPath } from 'node:url'
import type { BenchProcess, Workbench } from '#scripts/rig/processes.ts'
import { type HttpResult, type HttpRun, httpResultSchema } from './http-plan.ts'

const FINISH_LIMIT_S = 30

/** A running HTTP client; its runs come one after the other. */
export class HttpClientProcess {
  readonly #process: BenchProcess

  constructor(bench: Workbench) {
    const script = fileURLToPath(new URL('./http-client.ts', import.meta.url))
    this.#process = bench.spawn('HTTP client', process.execPath, [script])
  }

  run(run: HttpRun): Promise<HttpResult> {
    this.#process.writeLine(JSON.stringify(run))
    const limitMs = (run.warmupS + run.durationS + FINISH_LIMIT_S) * 1000
    return this.#process.take('result', limitMs, (line) => httpResultSchema.parse(JSON.parse(line)))
  }

  stop(): Promise<void> {
    return this.#process.stop()
  }
}
