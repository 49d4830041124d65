import type { ErrorMessage } from '#shared/errors.ts'
import type { UnreadableBlock } from '../telemetry/unreadable-block.ts'
import type { JobName } from './jobs.ts'

/** Job for a reader thread, which sends `opened` first and then one `ReaderAnswer` for each job. */
export interface ReaderRequest {
  name: JobName
  input: unknown
}

/** `wrongPage` is the fault of a telemetry page that was read despite its checksum. */
export type ReaderAnswer = {
  /** Blocks that the job had to leave out. */
  unreadable: UnreadableBlock[]
} & (
  | { kind: 'done'; result: unknown; tookMs: number; wrongPage: string | null }
  | { kind: 'refused'; error: ErrorMessage }
  | { kind: 'failed'; message: string; faultCode: string | null }
)

/** Sent when the thread has a connection; from then on it may be ended at any moment. */
export const READER_READY = 'opened'

/** Buffers of a result that can be transferred instead of copied. */
export function buffersOf(result: unknown): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>()
  collectBuffers(result, buffers)
  return [...buffers]
}

function collectBuffers(value: unknown, into: Set<ArrayBuffer>): void {
  if (typeof value !== 'object' || value === null) return
  if (!ArrayBuffer.isView(value)) {
    for (const part of Object.values(value)) collectBuffers(part, into)
    return
  }
  // the rest of a larger buffer may be in use, as with those of `Buffer`
  if (value.buffer instanceof ArrayBuffer && value.byteLength === value.buffer.byteLength) into.add(value.buffer)
}
