import type { PartLimits, StreamPart } from '#shared/sync-source.ts'
import type { Connection } from '../db/connection.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'
import { entitiesAfter, sentEntity } from './entities.ts'
import { type EventStream, eventsAfter, sentEvent } from './events.ts'
import { RowsPart, type SentRow } from './part.ts'

/** Rows read by one statement, so that no snapshot is held for longer. */
const ROWS_A_STATEMENT = 256

/** Next batch of a stream of rows; null if none follow `after`. */
export function nextRows(
  { connection }: ReaderTools,
  request: { stream: EventStream | 'entities'; after: number; limits: PartLimits },
): StreamPart | null {
  const { stream, limits } = request
  const limit = Math.min(limits.rows, ROWS_A_STATEMENT)
  const part = new RowsPart(limits)
  let { after } = request
  for (;;) {
    let read = 0
    for (const row of rowsAfter(connection, stream, after, limit)) {
      if (!part.add(row)) return part.finish()
      after = row.seq
      read++
    }
    if (read < limit) return part.finish()
  }
}

function* rowsAfter(
  connection: Connection,
  stream: EventStream | 'entities',
  after: number,
  limit: number,
): Generator<SentRow> {
  if (stream === 'entities') {
    for (const entity of entitiesAfter(connection, after, limit)) yield sentEntity(entity)
  } else for (const event of eventsAfter(connection, stream, after, limit)) yield sentEvent(event)
}
