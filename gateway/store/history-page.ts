import type { TelemetryStream } from '../../shared/ids.ts'
import { BATTERY, GPS } from '../../shared/telemetry-records.ts'
import type { HistoryFormat } from '../../shared/wire/telemetry.ts'
import { batteryTexts, gpsTexts, recordSeparator } from '../domain/history-text.ts'
import type { ReaderTools } from './reader-tools.ts'

/** Which records of a device, in which order and form; both bounds included. */
export interface HistoryPageRequest {
  stream: TelemetryStream
  deviceId: number
  hardwareId: string
  shortId: string
  fromMs: number
  toMs: number
  order: 'asc' | 'desc'
  limit: number
  format: HistoryFormat
  /** Time of the last record of the page before; null for the first page. */
  previousMs: number | null
}

export interface HistoryPage {
  /** The records as UTF-8 in the format asked for, with its separator between them. */
  text: Uint8Array
  rows: number
  /** Time of the last record in it; the next page begins after it. */
  lastAtMs: number
}

const encoder = new TextEncoder()

/** One page of history, as text: records never cross the thread boundary as objects. */
export function readHistoryPage({ telemetry }: ReaderTools, request: HistoryPageRequest): HistoryPage {
  const { stream, deviceId, fromMs, format, order, previousMs } = request
  let texts: string[]
  let times: Float64Array
  if (stream === 'gps') {
    const records = telemetry.page(GPS, deviceId, request)
    texts = gpsTexts(format, request, records, order, previousMs)
    times = records.atMs
  } else {
    const records = telemetry.page(BATTERY, deviceId, request)
    texts = batteryTexts(format, request, records, order)
    times = records.atMs
  }
  const text = encoder.encode(texts.join(recordSeparator(format)))
  return { text, rows: texts.length, lastAtMs: times.at(order === 'asc' ? -1 : 0) ?? fromMs }
}

/** Where the newest `count` GPS records of a device begin; 0 when it has none. */
export function startOfNewest(
  { telemetry }: ReaderTools,
  { deviceId, count }: { deviceId: number; count: number },
): number {
  const range = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }
  return telemetry.page(GPS, deviceId, { ...range, order: 'desc', limit: count }).atMs[0] ?? 0
}
