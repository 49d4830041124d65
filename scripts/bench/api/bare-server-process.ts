import { fileURLToPath } from 'node:url'
import type { BenchProcess, Workbench } from '#scripts/rig/processes.ts'

const START_LIMIT_MS = 10_000

/** What the server answers to GET of a path, in Hono's notation. */
export interface BareAnswer {
  path: string
  contentType: string
  body: string
}

/** Starts a Hono server that does nothing but answer; resolves when it listens. */
export async function startBareServer(
  bench: Workbench,
  answers: BareAnswer[],
): Promise<{ process: BenchProcess; port: number }> {
  const script = fileURLToPath(new URL('./bare-server.ts', import.meta.url))
  const started = bench.spawn('bare Hono', process.execPath, [script])
  started.writeLine(JSON.stringify(answers))
  const port = await started.take('port', START_LIMIT_MS, (line) => Number(line))
  return { process: started, port }
}
