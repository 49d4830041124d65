import { randomUUID } from 'node:crypto'
import type { Connection } from '../db/connection.ts'

/** What this gateway tells a head office of itself and its data. */
export interface NewNote {
  readonly kind: 'gap' | 'erase' | 'blank' | 'intent_result'
  readonly atMs: number
  /** As shared/wire/replication/sync.ts has it for the kind. */
  readonly body: object
}

/** Adds a note, in the transaction of what it tells of. Returns its position. */
export function addNote(connection: Connection, { kind, atMs, body }: NewNote): number {
  const { lastInsertRowid } = connection
    .statement('INSERT INTO note (note_id, kind, at_ms, body) VALUES (?, ?, ?, ?)')
    .run(randomUUID(), kind, atMs, JSON.stringify(body))
  return Number(lastInsertRowid)
}
