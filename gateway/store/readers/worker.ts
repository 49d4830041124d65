import { parentPort, workerData } from 'node:worker_threads'
import { AppError } from '#shared/errors.ts'
import { lowerThreadPriority } from '#shared/thread.ts'
import { openReader, openUncheckedReader } from '../db/connection.ts'
import { describeFault, isWrongSum, storeFaultCode } from '../db/fault.ts'
import { faultOrUnreadableDisk } from '../db/readable-disk.ts'
import { ReaderTools } from '../telemetry/reader-tools.ts'
import { performJob, readsTelemetryOnly } from './jobs.ts'
import { buffersOf, READER_READY, type ReaderAnswer, type ReaderRequest } from './messages.ts'

/** A tenth of the CPU time of others while they want to run, so that sealing keeps up; all CPU time otherwise. */
const NICENESS = 10

// no schema library here: every thread would load a copy of its own
const { path }: { path: string } = workerData
// the writer, which devices wait for, comes first
lowerThreadPriority(NICENESS)
let tools: ReaderTools | undefined

parentPort?.on('message', (request: ReaderRequest) => {
  const answer = answerTo(request)
  parentPort?.postMessage(answer, answer.kind === 'done' ? buffersOf(answer.result) : [])
})

function answerTo({ name, input }: ReaderRequest): ReaderAnswer {
  const startedAtMs = performance.now()
  try {
    const done = perform({ name, input })
    return { kind: 'done', ...done, tookMs: performance.now() - startedAtMs }
  } catch (error) {
    const fault = faultOrUnreadableDisk(error, path)
    const unreadable = tools?.telemetry.takeUnreadable() ?? []
    if (error instanceof AppError) {
      const { kind, code, message } = error
      return { kind: 'refused', error: { kind, code, message }, unreadable }
    }
    tools?.connection.close()
    tools = undefined
    return { kind: 'failed', message: describeFault(fault), faultCode: storeFaultCode(fault), unreadable }
  }
}

function perform(request: ReaderRequest): ReturnType<typeof performWith> & { wrongPage: string | null } {
  try {
    tools ??= open()
    return { ...performWith(tools, request), wrongPage: null }
  } catch (error) {
    if (!isWrongSum(storeFaultCode(error)) || !readsTelemetryOnly(request.name)) throw error
    // the checksum of a block detects its damage; that of its page would make intact blocks on it unreadable too
    const unchecked = new ReaderTools(openUncheckedReader(path))
    try {
      return { ...performWith(unchecked, request), wrongPage: describeFault(error) }
    } finally {
      unchecked.connection.close()
    }
  }
}

function open(): ReaderTools {
  const opened = new ReaderTools(openReader(path))
  parentPort?.postMessage(READER_READY)
  return opened
}

function performWith(using: ReaderTools, { name, input }: ReaderRequest) {
  const result = performJob(using, name, input)
  return { result, unreadable: using.telemetry.takeUnreadable() }
}
