import { parentPort, workerData } from 'node:worker_threads'
import { SqliteError } from 'better-sqlite3'
import { AppError, describeError } from '../../shared/errors.ts'
import { append } from './append.ts'
import { openWriter } from './connection.ts'
import type { WriterAnswer, WriterRequest } from './writer-messages.ts'
import { performWrite } from './writes.ts'

// The thread that writes: one request, one transaction, one answer.

// no schema library here: every thread would load its own copy of it
const { path }: { path: string } = workerData
const connection = openWriter(path)
const inTransaction = connection.db.transaction((work: () => WriterAnswer) => work())

let failedRun = -1

function perform(request: WriterRequest): WriterAnswer {
  switch (request.kind) {
    case 'append':
      if (request.run === failedRun) return { kind: 'skipped' }
      return inTransaction.immediate(() => ({ kind: 'appended', result: append(connection, request.batch) }))
    case 'write':
      return inTransaction.immediate(() => ({
        kind: 'written',
        result: performWrite(connection, request.name, request.input),
      }))
    case 'checkpoint':
      connection.db.pragma('wal_checkpoint(TRUNCATE)')
      connection.close()
      return { kind: 'written', result: null }
  }
}

// Anything but a violated constraint is the store's state (full, read-only, I/O error, corrupt), not the row's fault.
function isStoreFault(error: unknown): boolean {
  return error instanceof SqliteError && !/^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE|ERROR)/.test(error.code)
}

parentPort?.on('message', (request: WriterRequest) => {
  let answer: WriterAnswer
  try {
    answer = perform(request)
  } catch (error) {
    if (request.kind === 'append') failedRun = request.run
    answer =
      error instanceof AppError
        ? { kind: 'refused', error: { kind: error.kind, code: error.code, message: error.message } }
        : { kind: 'failed', message: describeError(error), isStoreFault: isStoreFault(error) }
  }
  parentPort?.postMessage(answer)
})
