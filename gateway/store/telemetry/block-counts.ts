import type { TelemetryStream } from '#shared/ids.ts'
import type { WriterTables } from './log-tail.ts'
import { saveStates } from './save-states.ts'

/** Corrects count and bounds after `removed` records were deleted, in one transaction. True for a registered device. */
export function decrementRecordCounts(
  connection: WriterTables,
  { deviceId, stream }: { deviceId: number; stream: TelemetryStream },
  removed: number,
): boolean {
  // records that are not counted yet cannot be subtracted
  saveStates(connection)
  const { firstMs, lastMs } = boundsOf(connection, stream, deviceId)
  const changed = connection.run(
    `UPDATE device_state SET ${stream}_count = max(0, ${stream}_count - ?), ${stream}_first_ms = ?, ${stream}_last_ms
      = ?
     WHERE device_id = ?`,
    removed,
    firstMs,
    lastMs,
    deviceId,
  )
  return changed > 0
}

function boundsOf(
  connection: WriterTables,
  stream: TelemetryStream,
  deviceId: number,
): { firstMs: number | null; lastMs: number | null } {
  // `+?`: otherwise SQLite would prepare the statement again for each device, see block-rows.ts
  const of = 'FROM stored_block WHERE device_id = +? AND stream = +? ORDER BY first_ms'
  const first = connection.get<{ atMs: number }>(`SELECT first_ms AS atMs ${of} LIMIT 1`, deviceId, stream)
  // blocks do not overlap: the one with the latest start has the latest end
  const last = connection.get<{ atMs: number }>(`SELECT last_ms AS atMs ${of} DESC LIMIT 1`, deviceId, stream)
  const log = connection.tail.bounds(stream, deviceId)
  const bounds = [first?.atMs, last?.atMs, log?.firstMs, log?.lastMs].filter((atMs) => atMs !== undefined)
  if (bounds.length === 0) return { firstMs: null, lastMs: null }
  return { firstMs: Math.min(...bounds), lastMs: Math.max(...bounds) }
}
