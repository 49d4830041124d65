import { randomUUID } from 'node:crypto'
import type { Connection } from '../db/connection.ts'

/** Note of this gateway to the hub about itself or its data. */
export interface NewNote {
  readonly kind: 'gap' | 'erase' | 'blank' | 'intent_result'
  readonly atMs: number
  /** Body in the schema of the kind in shared/wire/replication/sync.ts. */
  readonly body: object
}

/** Adds a note, in the transaction of the event that it reports. Returns its position. */
export function addNote(connection: Connection, { kind, atMs, body }: NewNote): number {
  const { lastInsertRowid } = connection
    .statement('INSERT INTO note (note_id, kind, at_ms, body) VALUES (?, ?, ?, ?)')
    .run(randomUUID(), kind, atMs, JSON.stringify(body))
  return Number(lastInsertRowid)
}
