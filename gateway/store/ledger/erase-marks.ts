import type { Connection } from '../db/connection.ts'

const POSITIONS = { telemetry: 'telemetry_seq', history: 'history_seq' } as const

interface Mark {
  seq: number
  isAwaited: 0 | 1
}

/**
 * Highest position that a batch of telemetry or history may reach that begins after `after`; null if it may not begin.
 * When the hub gets the note of an erasure, it deletes the device's records in batches up to the mark. So no batch may
 * hold records from before and after the mark, and records after it must not arrive before the note. Must be called in
 * the transaction that determines the end of the stream: a mark set later is after that end.
 */
export function partBound(connection: Connection, stream: keyof typeof POSITIONS, after: number): number | null {
  const marks = connection.all<Mark>(
    `SELECT ${POSITIONS[stream]} AS seq,
       note_seq > ifnull((SELECT seq FROM sync_cursor WHERE stream = 'notes'), 0) AS isAwaited
     FROM erase_mark`,
  )
  let bound = Number.MAX_SAFE_INTEGER
  for (const { seq, isAwaited } of marks) {
    if (seq > after) bound = Math.min(bound, seq)
    else if (isAwaited === 1) return null
  }
  return bound
}
