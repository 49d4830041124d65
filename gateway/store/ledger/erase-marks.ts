import type { Connection } from '../db/connection.ts'

const POSITIONS = { telemetry: 'telemetry_seq', history: 'history_seq' } as const

interface Mark {
  seq: number
  isAwaited: 0 | 1
}

/**
 * Up to where a part of telemetry or history may reach that begins behind `after`; null when it may not begin. The head
 * office deletes what parts up to a mark hold of a device when it gets the note of the erasure: no part may hold
 * records from before and after it, and what came after it must not be there before the note. To be called in the
 * transaction that finds out how far the stream goes: a mark that is set later lies behind that.
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
