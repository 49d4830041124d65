import { platform, setPriority } from 'node:os'
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
export type ReaderAnswer = { kind: 'page'; page: HistoryPage } | ReaderFailure

// no schema library here: every thread would load its own copy of it
const { path }: { path: string } = workerData
let connection: Connection | undefined

/** As `nice` does: somebody who downloads a season must not make devices wait for the processor. */
const NICE = 10

// Linux takes 0 for the calling thread, other systems for the whole process. Source: setpriority(2)
if (platform() === 'linux') setPriority(0, NICE)

parentPort?.on('message', (request: HistoryPageRequest) => {
  try {
    connection ??= openReader(path)
    const page = readHistoryPage(connection, request)
    parentPort?.postMessage({ kind: 'page', page } satisfies ReaderAnswer, [page.text.buffer as ArrayBuffer])
  } catch (error) {
    connection?.close()
    connection = undefined
    const [message, faultCode] = [describeFault(error), storeFaultCode(error)]
    parentPort?.postMessage({ kind: 'failed', message, faultCode } satisfies ReaderAnswer)
  }
})
