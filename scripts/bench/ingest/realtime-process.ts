import { fileURLToPath } from 'node:url'
import type { BenchProcess, Workbench } from '#scripts/rig/processes.ts'
import { type RealtimeEvent, type RealtimeResult, realtimeEventSchema } from './realtime-plan.ts'

const LIMIT_MS = 30_000

/** Running WebSocket readers. */
export class RealtimeProcess {
  readonly #process: BenchProcess

  constructor(bench: Workbench, url: string, sockets: number) {
    const script = fileURLToPath(new URL('./realtime-readers.ts', import.meta.url))
    this.#process = bench.spawn('realtime readers', process.execPath, [script])
    this.#process.writeLine(JSON.stringify({ url, sockets }))
  }

  /** Every socket is subscribed. */
  async ready(): Promise<void> {
    await this.#next('ready')
  }

  /** Ends the readers and returns what they got. */
  async finish(): Promise<RealtimeResult> {
    this.#process.writeLine('stop')
    const event = await this.#next('result')
    await this.#process.stop()
    if (event.event !== 'result') throw new Error('the realtime readers gave no result')
    return event.result
  }

  #next(wanted: RealtimeEvent['event']): Promise<RealtimeEvent> {
    return this.#process.take(wanted, LIMIT_MS, (line) => {
      const event = realtimeEventSchema.parse(JSON.parse(line))
      return event.event === wanted ? event : undefined
    })
  }
}
