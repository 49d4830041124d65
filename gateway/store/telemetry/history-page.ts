import { type HistoryPage, type HistoryRequest, historyPageOf } from '#shared/history/page.ts'
import type { TelemetryStream } from '#shared/ids.ts'
import { BATTERY, GPS } from '#shared/telemetry/records.ts'
import type { ReaderTools } from './reader-tools.ts'

/** Which records of a device, in which order and form; both bounds included. */
export interface HistoryPageRequest extends HistoryRequest {
  stream: TelemetryStream
  deviceId: number
}

/** One page of history, as text: records never cross the thread boundary as objects. */
export function readHistoryPage({ telemetry }: ReaderTools, request: HistoryPageRequest): HistoryPage {
  const { stream, deviceId } = request
  const records =
    stream === 'gps'
      ? { gps: telemetry.page(GPS, deviceId, request) }
      : { battery: telemetry.page(BATTERY, deviceId, request) }
  return historyPageOf(request, records)
}

/** Where the newest `count` GPS records of a device begin; 0 when it has none. */
export function startOfNewest(
  { telemetry }: ReaderTools,
  { deviceId, count }: { deviceId: number; count: number },
): number {
  const range = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }
  return telemetry.page(GPS, deviceId, { ...range, order: 'desc', limit: count }).atMs[0] ?? 0
}
