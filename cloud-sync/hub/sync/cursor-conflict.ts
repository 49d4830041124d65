import { ConflictError } from '#shared/errors.ts'
import type { SyncCursors } from '#shared/wire/sync.ts'

/** Parts do not begin where their streams are, or a gateway never had what the hub has; nothing was taken. */
export class CursorConflictError extends ConflictError {
  readonly cursors: SyncCursors

  constructor(code: 'cursor' | 'ahead', message: string, cursors: SyncCursors) {
    super(code, message)
    this.cursors = cursors
  }
}
