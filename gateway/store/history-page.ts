import { fromE7, fromMilli } from '../../shared/geo.ts'
import { recordId, recordIdPrefix, type TelemetryStream } from '../../shared/ids.ts'
import { toIso } from '../../shared/time.ts'
import type { Connection } from './connection.ts'

/** Which records of a device, in which order; both bounds included. */
export interface HistoryPageRequest {
  stream: TelemetryStream
  deviceId: number
  hardwareId: string
  shortId: string
  fromMs: number
  toMs: number
  order: 'asc' | 'desc'
  limit: number
}

export interface HistoryPage {
  /** The records as JSON, comma-separated, UTF-8. */
  json: Uint8Array
  rows: number
  /** Time of the last record in it; the next page begins after it. */
  lastAtMs: number
}

interface GpsRow {
  atMs: number
  latE7: number
  longE7: number
  speedMilliKmh: number | null
}

interface BatteryRow {
  atMs: number
  voltageMv: number
}

const encoder = new TextEncoder()

/** One page of history, as text: rows never cross the thread boundary as objects. */
export function readHistoryPage(connection: Connection, request: HistoryPageRequest): HistoryPage {
  const { stream, deviceId, hardwareId, shortId, fromMs, toMs, limit } = request
  const order = request.order === 'asc' ? 'ASC' : 'DESC'
  const prefix = recordIdPrefix(hardwareId, stream)
  const owner = `,"device_id":${JSON.stringify(shortId)},"hardware_id":${JSON.stringify(hardwareId)},"timestamp":"`
  const head = (atMs: number) => `{"_id":"${recordId(prefix, atMs)}"${owner}${toIso(atMs)}"`
  const range = `WHERE device_id = ? AND at_ms BETWEEN ? AND ? ORDER BY at_ms ${order} LIMIT ?`
  let lines: string[]
  let lastAtMs = fromMs
  if (stream === 'gps') {
    const rows = connection.all<GpsRow>(
      `SELECT at_ms AS atMs, lat_e7 AS latE7, long_e7 AS longE7, speed_milli_kmh AS speedMilliKmh FROM gps ${range}`,
      deviceId,
      fromMs,
      toMs,
      limit,
    )
    lines = rows.map(({ atMs, latE7, longE7, speedMilliKmh }) => {
      const speed = speedMilliKmh === null ? '' : `,"speed":${fromMilli(speedMilliKmh)}`
      return `${head(atMs)},"lat":${fromE7(latE7)},"long":${fromE7(longE7)}${speed}}`
    })
    lastAtMs = rows.at(-1)?.atMs ?? fromMs
  } else {
    const rows = connection.all<BatteryRow>(
      `SELECT at_ms AS atMs, voltage_mv AS voltageMv FROM battery ${range}`,
      deviceId,
      fromMs,
      toMs,
      limit,
    )
    lines = rows.map(({ atMs, voltageMv }) => `${head(atMs)},"battery_voltage":${fromMilli(voltageMv)}}`)
    lastAtMs = rows.at(-1)?.atMs ?? fromMs
  }
  return { json: encoder.encode(lines.join(',')), rows: lines.length, lastAtMs }
}
