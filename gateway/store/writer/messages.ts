import type { ErrorMessage } from '#shared/errors.ts'
import type { TableRepair } from '../damage/table-repair.ts'
import type { TimedActor } from '../db/audit.ts'
import type { AppendBatch, AppendResult } from './append.ts'
import type { NamedWrite, WriteInput, WriteName } from './writes.ts'

/**
 * Requests to the writer thread. If an append fails, later ones of the same `run` are skipped, so that nothing is
 * stored out of order. `also` is written first in the same transaction: both are on the disk or neither is.
 */
export type WriterRequest =
  | { kind: 'append'; batch: AppendBatch; run: number }
  | {
      kind: 'write'
      name: WriteName
      input: WriteInput<WriteName>
      also?: NamedWrite | undefined
      origin: TimedActor
    }
  | { kind: 'probe' }
  /** Searches for damage that a read met, and recreates what it can; always answered with `written`. */
  | { kind: 'mend'; fault: string }
  | { kind: 'checkpoint' }
  /** Answered with true if the write-ahead log is empty. */
  | { kind: 'truncate' }

/** Response: `failed` is an error of SQLite or the program, `refused` an `AppError`; `isDamage`: others may succeed. */
export type WriterAnswer =
  | { kind: 'appended'; result: AppendResult }
  | { kind: 'skipped' }
  | { kind: 'written'; result: unknown }
  | { kind: 'refused'; error: ErrorMessage }
  | { kind: 'failed'; message: string; isStoreFault: boolean; isDamage?: boolean }

/** Messages of the writer thread: an in-order response to each request, and failures of background work. */
export type WriterReport =
  | { kind: 'answer'; answer: WriterAnswer; tookMs: number; faultCode: string | null }
  | { kind: 'damage_found'; found: TableRepair[]; faultCode: null }
  | { kind: 'checkpoint_failed'; message: string; faultCode: string | null }
  | { kind: 'saving_failed'; message: string; faultCode: string | null }
  | { kind: 'giving_back_failed'; message: string; faultCode: string | null }
