import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { syncCursors } from '../ledger/cursors.ts'
import { isSentEntity } from '../ledger/sent-entities.ts'

/** Kinds of events with a limited retention; each has a time column of its own. */
export const EVENT_KINDS = ['message', 'lock_event', 'geofence_event', 'command', 'audit_entry'] as const
export type EventKind = (typeof EVENT_KINDS)[number]

/** Position up to which a deletion has come, oldest first. */
export interface EventPosition {
  kind: EventKind
  atMs: number
  seq: number
}

export interface EventDeletionStep {
  kind: EventKind
  deleted: number
  /** Start of the next step; null at the end. */
  after: EventPosition | null
}

interface Table {
  timeColumn: string
  /** Condition of rows that may be deleted. */
  isOver: string
  /** Condition of rows that the hub has, up to the position of the stream. */
  isSent: string
  stream: 'lock_events' | 'geofence_events' | 'entities'
}

const TABLES: Record<EventKind, Table> = {
  // before its commands, which have its states; it stays at the course
  message: { timeColumn: 'sent_at_ms', isOver: 'true', isSent: '? IS NOT NULL', stream: 'entities' },
  lock_event: { timeColumn: 'at_ms', isOver: 'true', isSent: 'seq <= ?', stream: 'lock_events' },
  geofence_event: { timeColumn: 'at_ms', isOver: 'true', isSent: 'seq <= ?', stream: 'geofence_events' },
  command: {
    timeColumn: 'created_at_ms',
    isOver: "status NOT IN ('pending', 'published', 'acknowledged')",
    isSent: isSentEntity('command', 'command_id'),
    stream: 'entities',
  },
  audit_entry: {
    timeColumn: 'at_ms',
    isOver: 'true',
    isSent: isSentEntity('audit_entry', 'entry_id'),
    stream: 'entities',
  },
}

/** Rows checked in one step, which takes some milliseconds. */
const STEP_ROWS = 500

/**
 * Deletes some events from before `beforeMs` that come after `after`, oldest first. With `keepsUnsent`, events that the
 * hub has not acknowledged are kept. Unfinished commands are always kept.
 */
export const deleteEventsStep = write(
  (
    connection: Connection,
    input: { beforeMs: number; keepsUnsent: boolean; after: EventPosition | null },
  ): EventDeletionStep => {
    const after = input.after ?? { kind: EVENT_KINDS[0], atMs: 0, seq: 0 }
    const { kind } = after
    const { timeColumn, isOver, isSent, stream } = TABLES[kind]
    const examined = connection.all<{ seq: number; atMs: number }>(
      `SELECT seq, ${timeColumn} AS atMs FROM ${kind} WHERE ${timeColumn} < ? AND (${timeColumn}, seq) > (?, ?)
     ORDER BY ${timeColumn}, seq LIMIT ?`,
      input.beforeMs,
      after.atMs,
      after.seq,
      STEP_ROWS,
    )
    const sql = `DELETE FROM ${kind} WHERE seq IN (SELECT value FROM json_each(?)) AND ${isOver}`
    const seqs = JSON.stringify(examined.map(({ seq }) => seq))
    const deleted = input.keepsUnsent
      ? connection.run(`${sql} AND ${isSent}`, seqs, syncCursors(connection)[stream].seq)
      : connection.run(sql, seqs)
    if (kind === 'command' && deleted > 0) connection.run('UPDATE command_count SET commands = commands - ?', deleted)
    const last = examined.at(-1)
    return { kind, deleted, after: last === undefined ? nextKind(kind) : { kind, ...last } }
  },
  { audit: null },
)

function nextKind(kind: EventKind): EventPosition | null {
  const next = EVENT_KINDS[EVENT_KINDS.indexOf(kind) + 1]
  return next === undefined ? null : { kind: next, atMs: 0, seq: 0 }
}
