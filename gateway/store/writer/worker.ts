import { parentPort, workerData } from 'node:worker_threads'
import { AppError } from '#shared/errors.ts'
import { describeFault, storeFaultCode } from '../db/fault.ts'
import { append } from './append.ts'
import { WriterConnection } from './connection.ts'
import { FreeSpace } from './free-space.ts'
import type { WriterAnswer, WriterReport, WriterRequest } from './messages.ts'
import { performWrite } from './perform-write.ts'

// The thread that writes: one request, one transaction, one answer.

// no schema library here: every thread would load its own copy of it
const { path, inode }: { path: string; inode: bigint } = workerData
const connection = new WriterConnection(path, inode)
const freeSpace = new FreeSpace(connection)

/** How soon after a write free space is looked for. */
const FREE_SPACE_MS = 1000
/** After a failure it waits for the next write after so long: the disk is in trouble and has better things to do. */
const FREE_SPACE_RETRY_MS = 60_000

let failedRun = -1
let freeSpaceTimer: NodeJS.Timeout | undefined

function perform(request: WriterRequest): WriterAnswer {
  switch (request.kind) {
    case 'append':
      if (request.run === failedRun) return { kind: 'skipped' }
      return connection.transaction((writing) => ({
        kind: 'appended',
        result: append(writing, request.batch),
      }))
    case 'write':
      return connection.transaction((writing) => {
        const { name, input, also, origin } = request
        if (also !== undefined) performWrite(writing, also.name, also.input, origin)
        return { kind: 'written', result: performWrite(writing, name, input, origin) }
      })
    case 'probe':
      connection.probe()
      return { kind: 'written', result: null }
    case 'truncate':
      return { kind: 'written', result: connection.truncateLog() }
    case 'checkpoint':
      connection.finish()
      return { kind: 'written', result: null }
  }
}

function report(message: WriterReport): void {
  parentPort?.postMessage(message)
}

function failureOf(error: unknown): WriterAnswer {
  if (error instanceof AppError)
    return { kind: 'refused', error: { kind: error.kind, code: error.code, message: error.message } }
  return { kind: 'failed', message: describeFault(error), isStoreFault: storeFaultCode(error) !== null }
}

function checkpointIfDue(): void {
  try {
    connection.checkpointIfDue()
  } catch (error) {
    report({ kind: 'checkpoint_failed', message: describeFault(error), faultCode: storeFaultCode(error) })
  }
}

function giveBackSpace(): void {
  freeSpaceTimer = undefined
  try {
    const pauseMs = freeSpace.step()
    if (pauseMs !== null) freeSpaceTimer = setTimeout(giveBackSpace, pauseMs)
  } catch (error) {
    report({ kind: 'giving_back_failed', message: describeFault(error), faultCode: storeFaultCode(error) })
    freeSpaceTimer = setTimeout(() => {
      freeSpaceTimer = undefined
    }, FREE_SPACE_RETRY_MS)
  }
  checkpointIfDue()
}

parentPort?.on('message', (request: WriterRequest) => {
  const startedAtMs = performance.now()
  try {
    const answer = perform(request)
    report({ kind: 'answer', answer, tookMs: performance.now() - startedAtMs, faultCode: null })
  } catch (error) {
    if (request.kind === 'append') failedRun = request.run
    const tookMs = performance.now() - startedAtMs
    report({ kind: 'answer', answer: failureOf(error), tookMs, faultCode: storeFaultCode(error) })
  }
  // no caller waits for these: requests before are on the disk and answered
  checkpointIfDue()
  if (freeSpaceTimer === undefined) freeSpaceTimer = setTimeout(giveBackSpace, FREE_SPACE_MS)
})
