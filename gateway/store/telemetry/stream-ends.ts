import type { Connection } from '../db/connection.ts'
import { sampleCountOf } from './batch.ts'

/** The last sequence number that was ever given to a sample; 0 before the first. */
export function lastSampleSeq(connection: Connection): number {
  const { nextSeq = 1 } =
    connection.get<{ nextSeq: number }>('SELECT next_seq AS nextSeq FROM telemetry_log_end') ?? {}
  // the length alone: the row itself may be large
  const last = connection.get<{ firstSeq: number; byteLength: number }>(
    `SELECT first_seq AS firstSeq, length(samples) AS byteLength FROM telemetry_log
     ORDER BY first_seq DESC LIMIT 1`,
  )
  return Math.max(nextSeq, last === undefined ? 0 : last.firstSeq + sampleCountOf(last)) - 1
}
