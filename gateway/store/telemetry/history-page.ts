import { type HistoryPage, type HistoryRequest, historyPageOf } from '#shared/history/page.ts'
import type { TelemetryStream } from '#shared/ids.ts'
import { BATTERY, GPS } from '#shared/telemetry/records.ts'
import type { ReaderTools } from './reader-tools.ts'

/** Records of a device with their order and format; both bounds included. */
export interface HistoryPageRequest extends HistoryRequest {
  stream: TelemetryStream
  deviceId: number
}

/** Page of history as text, so that no record crosses the thread boundary as an object. */
export function readHistoryPage({ telemetry }: ReaderTools, request: HistoryPageRequest): HistoryPage {
  const { stream, deviceId } = request
  const records =
    stream === 'gps'
      ? { gps: telemetry.page(GPS, deviceId, request) }
      : { battery: telemetry.page(BATTERY, deviceId, request) }
  return historyPageOf(request, records)
}

/** Start of the newest `count` GPS records of a device; 0 if it has none. */
export function startOfNewest(
  { telemetry }: ReaderTools,
  { deviceId, count }: { deviceId: number; count: number },
): number {
  const range = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }
  return telemetry.page(GPS, deviceId, { ...range, order: 'desc', limit: count }).atMs[0] ?? 0
}
