import type { ErrorMessage } from '../../shared/errors.ts'
import type { JobName } from './reader-jobs.ts'
import type { UnreadableBlock } from './telemetry-reader.ts'

/** One job for a reader thread, which answers each with one `ReaderAnswer`. */
export interface ReaderRequest {
  name: JobName
  input: unknown
}

export type ReaderAnswer = {
  /** Blocks the job had to leave out. */
  unreadable: UnreadableBlock[]
} & (
  | { kind: 'done'; result: unknown; tookMs: number }
  | { kind: 'refused'; error: ErrorMessage }
  | { kind: 'failed'; message: string; faultCode: string | null }
)

/** The memory of a result that can be handed over instead of copied. */
export function buffersOf(result: unknown): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>()
  for (const part of [result, ...valuesOf(result), ...valuesOf(result).flatMap(valuesOf)]) {
    // of a part of a larger buffer the rest may be in use: what `Buffer` makes is like that
    if (!ArrayBuffer.isView(part) || part.byteLength !== part.buffer.byteLength) continue
    if (part.buffer instanceof ArrayBuffer) buffers.add(part.buffer)
  }
  return [...buffers]
}

function valuesOf(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null && !ArrayBuffer.isView(value) ? Object.values(value) : []
}
