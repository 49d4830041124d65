import { parentPort, workerData } from 'node:worker_threads'
import { type Connection, openReader } from './connection.ts'
import { type HistoryPage, type HistoryPageRequest, readHistoryPage } from './history-page.ts'
import { describeFault, storeFaultCode } from './store-fault.ts'

interface ReaderFailure {
  kind: 'failed'
  message: string
  faultCode: string | null
}

/** What a reader thread answers, one answer a request. */
export type ReaderAnswer = { kind: 'page'; page: HistoryPage; tookMs: number } | ReaderFailure

// no schema library here: every thread would load its own copy of it
const { path }: { path: string } = workerData
let connection: Connection | undefined

parentPort?.on('message', (request: HistoryPageRequest) => {
  const startedAtMs = performance.now()
  try {
    connection ??= openReader(path)
    const page = readHistoryPage(connection, request)
    const answer: ReaderAnswer = { kind: 'page', page, tookMs: performance.now() - startedAtMs }
    parentPort?.postMessage(answer, [page.text.buffer as ArrayBuffer])
  } catch (error) {
    connection?.close()
    connection = undefined
    const [message, faultCode] = [describeFault(error), storeFaultCode(error)]
    parentPort?.postMessage({ kind: 'failed', message, faultCode } satisfies ReaderAnswer)
  }
})
