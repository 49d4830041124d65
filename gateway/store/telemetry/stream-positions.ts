import type { SyncStream } from '#shared/wire/replication/sync.ts'
import type { Connection } from '../db/connection.ts'
import { STREAM_TABLES } from '../ledger/streams.ts'
import { sampleCountOf } from './batch.ts'

/** Last position ever assigned in each stream, including deleted ones. */
export function syncEnds(connection: Connection): Record<SyncStream, number> {
  const sequences = connection.all<{ name: string; seq: number }>('SELECT name, seq FROM sqlite_sequence')
  const end = (stream: keyof typeof STREAM_TABLES) =>
    sequences.find(({ name }) => name === STREAM_TABLES[stream])?.seq ?? 0
  return {
    notes: end('notes'),
    lock_events: end('lock_events'),
    geofence_events: end('geofence_events'),
    entities: end('entities'),
    telemetry: lastSampleSeq(connection),
    history: end('history'),
  }
}

/** Last sequence number ever assigned to a sample; 0 before the first. */
function lastSampleSeq(connection: Connection): number {
  const { nextSeq = 1 } = connection.get<{ nextSeq: number }>('SELECT next_seq FROM telemetry_log_end') ?? {}
  // reads only the length, because the row may be large
  const last = connection.get<{ firstSeq: number; byteLength: number }>(
    `SELECT first_seq, length(samples) AS byteLength FROM telemetry_log
     ORDER BY first_seq DESC LIMIT 1`,
  )
  return Math.max(nextSeq, last === undefined ? 0 : last.firstSeq + sampleCountOf(last)) - 1
}
