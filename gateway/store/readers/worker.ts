import { platform, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { AppError } from '#shared/errors.ts'
import { openReader } from '../db/connection.ts'
import { describeFault, storeFaultCode } from '../db/fault.ts'
import { ReaderTools } from '../telemetry/reader-tools.ts'
import { performJob } from './jobs.ts'
import { buffersOf, type ReaderAnswer, type ReaderRequest } from './messages.ts'

/** A tenth of what others get while they want to run, so that sealing keeps up; all there is while they do not. */
const NICENESS = 10

// no schema library here: every thread would load its own copy of it
const { path }: { path: string } = workerData
// on Linux 0 is this thread, not the process: what devices wait for comes first
if (platform() === 'linux') setPriority(0, NICENESS)
let tools: ReaderTools | undefined

parentPort?.on('message', (request: ReaderRequest) => {
  const answer = answerTo(request)
  parentPort?.postMessage(answer, answer.kind === 'done' ? buffersOf(answer.result) : [])
})

function answerTo({ name, input }: ReaderRequest): ReaderAnswer {
  const startedAtMs = performance.now()
  try {
    tools ??= new ReaderTools(openReader(path))
    const result = performJob(tools, name, input)
    const unreadable = tools.telemetry.takeUnreadable()
    return { kind: 'done', result, unreadable, tookMs: performance.now() - startedAtMs }
  } catch (error) {
    const unreadable = tools?.telemetry.takeUnreadable() ?? []
    if (error instanceof AppError) {
      const { kind, code, message } = error
      return { kind: 'refused', error: { kind, code, message }, unreadable }
    }
    tools?.connection.close()
    tools = undefined
    return { kind: 'failed', message: describeFault(error), faultCode: storeFaultCode(error), unreadable }
  }
}
