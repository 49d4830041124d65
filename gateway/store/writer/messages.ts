import type { ErrorMessage } from '#shared/errors.ts'
import type { TableRepair } from '../damage/table-repair.ts'
import type { TimedActor } from '../db/audit.ts'
import type { AppendBatch, AppendResult } from './append.ts'
import type { NamedWrite, WriteInput, WriteName } from './writes.ts'

/**
 * What the writer thread is asked. When an append fails, those behind it of the same `run` are skipped: nothing is
 * stored out of order. `also` is written first, in the same transaction: both are on the disk or neither is.
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
  /** Looks for damage that a read met, and begins anew what can be; answered with `written`, whatever was found. */
  | { kind: 'mend'; fault: string }
  | { kind: 'checkpoint' }
  /** Answered with whether the write-ahead log is empty. */
  | { kind: 'truncate' }

/**
 * Its answer; `failed` is SQLite's or the program's, `refused` is a rule's (an `AppError`). `isDamage` says that it met
 * a damaged page: other requests may succeed.
 */
export type WriterAnswer =
  | { kind: 'appended'; result: AppendResult }
  | { kind: 'skipped' }
  | { kind: 'written'; result: unknown }
  | { kind: 'refused'; error: ErrorMessage }
  | { kind: 'failed'; message: string; isStoreFault: boolean; isDamage?: boolean }

/**
 * What the thread says: an answer to each request, in order, and in between the failures of work the thread does on
 * its own.
 */
export type WriterReport =
  | { kind: 'answer'; answer: WriterAnswer; tookMs: number; faultCode: string | null }
  | { kind: 'damage_found'; found: TableRepair[]; faultCode: null }
  | { kind: 'checkpoint_failed'; message: string; faultCode: string | null }
  | { kind: 'saving_failed'; message: string; faultCode: string | null }
  | { kind: 'giving_back_failed'; message: string; faultCode: string | null }
