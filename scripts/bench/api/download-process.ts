import { fileURLToPath } from 'node:url'
import type { BenchProcess, Workbench } from '#scripts/rig/processes.ts'
import { type Download, type DownloadResult, downloadResultSchema } from './download-plan.ts'

const LIMIT_MS = 300_000

/** Somebody who downloads, one thing after the other. */
export class DownloadProcess {
  readonly #process: BenchProcess

  constructor(bench: Workbench) {
    const script = fileURLToPath(new URL('./download-client.ts', import.meta.url))
    this.#process = bench.spawn('download client', process.execPath, [script])
  }

  /** Throws when it breaks off or is not answered 200. */
  async run(download: Download): Promise<DownloadResult> {
    this.#process.writeLine(JSON.stringify(download))
    const result = await this.#process.take('download', LIMIT_MS, (line) =>
      downloadResultSchema.parse(JSON.parse(line)),
    )
    if (result.status !== 200) throw new Error(`GET ${download.path}: ${result.status}`)
    return result
  }

  /** Leaves, in the middle of a download if there is one. */
  kill(): void {
    this.#process.killNow()
  }
}
