import { parentPort, workerData } from 'node:worker_threads'
import { describeError } from '../../shared/errors.ts'
import { openReader } from './connection.ts'
import { type HistoryPage, type HistoryPageRequest, readHistoryPage } from './history-page.ts'

/** What a reader thread answers, one answer a request. */
export type ReaderAnswer = { kind: 'page'; page: HistoryPage } | { kind: 'failed'; message: string }

// no schema library here: every thread would load its own copy of it
const { path }: { path: string } = workerData
const connection = openReader(path)

parentPort?.on('message', (request: HistoryPageRequest) => {
  try {
    const page = readHistoryPage(connection, request)
    parentPort?.postMessage({ kind: 'page', page } satisfies ReaderAnswer, [page.json.buffer as ArrayBuffer])
  } catch (error) {
    parentPort?.postMessage({ kind: 'failed', message: describeError(error) } satisfies ReaderAnswer)
  }
})
