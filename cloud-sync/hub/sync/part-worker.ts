import { parentPort } from 'node:worker_threads'
import { AppError, describeError } from '#shared/errors.ts'
import type { SyncPart } from '#shared/wire/replication/sync.ts'
import { checkPart } from './part-content.ts'
import type { DecoderAnswer } from './part-decoder.ts'

// The thread that decodes the telemetry of gateways: one part, one result.

parentPort?.on('message', (part: SyncPart) => {
  parentPort?.postMessage(answerTo(part))
})

function answerTo(part: SyncPart): DecoderAnswer {
  try {
    const { data, content } = checkPart(part)
    return { kind: 'checked', data, content }
  } catch (error) {
    if (!(error instanceof AppError)) return { kind: 'failed', reason: describeError(error) }
    const { kind, code, message } = error
    return { kind: 'refused', error: { kind, code, message } }
  }
}
