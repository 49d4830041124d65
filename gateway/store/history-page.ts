import type { TelemetryStream } from '../../shared/ids.ts'
import type { HistoryFormat } from '../../shared/wire/telemetry.ts'
import { batteryTexts, gpsTexts, recordSeparator } from '../domain/history-text.ts'
import type { StoredBattery, StoredGps } from '../domain/latest-state.ts'
import type { Connection } from './connection.ts'

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

/** One page of history, as text: rows never cross the thread boundary as objects. */
export function readHistoryPage(connection: Connection, request: HistoryPageRequest): HistoryPage {
  const { stream, deviceId, fromMs, toMs, limit, format, previousMs } = request
  const order = request.order === 'asc' ? 'ASC' : 'DESC'
  const range = `WHERE device_id = ? AND at_ms BETWEEN ? AND ? ORDER BY at_ms ${order} LIMIT ?`
  let texts: string[]
  let lastAtMs: number | undefined
  if (stream === 'gps') {
    const rows = connection.all<StoredGps>(
      `SELECT at_ms AS atMs, lat_e7 AS latE7, long_e7 AS longE7, speed_milli_kmh AS speedMilliKmh FROM gps ${range}`,
      deviceId,
      fromMs,
      toMs,
      limit,
    )
    texts = gpsTexts(format, request, rows, previousMs)
    lastAtMs = rows.at(-1)?.atMs
  } else {
    const rows = connection.all<StoredBattery>(
      `SELECT at_ms AS atMs, voltage_mv AS voltageMv FROM battery ${range}`,
      deviceId,
      fromMs,
      toMs,
      limit,
    )
    texts = batteryTexts(format, request, rows)
    lastAtMs = rows.at(-1)?.atMs
  }
  const text = encoder.encode(texts.join(recordSeparator(format)))
  return { text, rows: texts.length, lastAtMs: lastAtMs ?? fromMs }
}
