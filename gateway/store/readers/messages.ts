import type { ErrorMessage } from '#shared/errors.ts'
import type { UnreadableBlock } from '../telemetry/unreadable-block.ts'
import type { JobName } from './jobs.ts'

/** One job for a reader thread, which answers each with one `ReaderAnswer`, and says `opened` before the first. */
export interface ReaderRequest {
  name: JobName
  input: unknown
}

/** `wrongPage` is the fault of a page of telemetry that was taken as it is. */
export type ReaderAnswer = {
  /** Blocks the job had to leave out. */
  unreadable: UnreadableBlock[]
} & (
  | { kind: 'done'; result: unknown; tookMs: number; wrongPage: string | null }
  | { kind: 'refused'; error: ErrorMessage }
  | { kind: 'failed'; message: string; faultCode: string | null }
)

/** It has a connection: from now on it may be ended at any moment. */
export const READER_READY = 'opened'

/** The memory of a result that can be handed over instead of copied. */
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
  // of a part of a larger buffer the rest may be in use: what `Buffer` makes is like that
  if (value.buffer instanceof ArrayBuffer && value.byteLength === value.buffer.byteLength) into.add(value.buffer)
}
