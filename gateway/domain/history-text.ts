import { fromE7, fromMilli } from '../../shared/geo.ts'
import { recordId, recordIdPrefix, type TelemetryStream } from '../../shared/ids.ts'
import { toIso } from '../../shared/time.ts'
import type { HistoryFormat } from '../../shared/wire/telemetry.ts'
import { degrees, GPX_FOOT, gpxHead, gpxPoint } from './gpx.ts'
import type { StoredBattery, StoredGps } from './latest-state.ts'

/** Whose records are written. */
export interface HistoryOwner {
  hardwareId: string
  shortId: string
}

/** What stands around the records of a history. */
export interface HistoryFrame {
  head: string
  foot: string
}

const CSV_COLUMNS: Record<TelemetryStream, string> = {
  gps: 'hardware_id,timestamp,lat,long,speed\r\n',
  battery: 'hardware_id,timestamp,battery_voltage\r\n',
}

/** The frame of a whole history; the title is the device's name. */
export function historyFrame(format: HistoryFormat, stream: TelemetryStream, title: string): HistoryFrame {
  switch (format) {
    case 'json':
      return { head: '[', foot: ']' }
    case 'ndjson':
      return { head: '', foot: '' }
    case 'csv':
      return { head: CSV_COLUMNS[stream], foot: '' }
    case 'gpx':
      return { head: gpxHead(title), foot: GPX_FOOT }
  }
}

/** What stands between two records; in most forms each ends with what it ends with. */
export function recordSeparator(format: HistoryFormat): string {
  return format === 'json' ? ',' : ''
}

/**
 * GPS records as text, one each. `previousMs` is the time of the record before the first, null at the beginning; it
 * matters to GPX only, which must be written in ascending order.
 */
export function gpsTexts(
  format: HistoryFormat,
  owner: HistoryOwner,
  rows: readonly StoredGps[],
  previousMs: number | null,
): string[] {
  if (format === 'gpx') return rows.map((row, i) => gpxPoint(row, rows[i - 1]?.atMs ?? previousMs))
  if (format === 'csv') {
    return rows.map(({ atMs, latE7, longE7, speedMilliKmh }) => {
      const speed = speedMilliKmh === null ? '' : fromMilli(speedMilliKmh)
      return `${owner.hardwareId},${toIso(atMs)},${degrees(latE7)},${degrees(longE7)},${speed}\r\n`
    })
  }
  const head = jsonHead('gps', owner)
  const end = format === 'json' ? '}' : '}\n'
  return rows.map(({ atMs, latE7, longE7, speedMilliKmh }) => {
    const speed = speedMilliKmh === null ? '' : `,"speed":${fromMilli(speedMilliKmh)}`
    return `${head(atMs)},"lat":${fromE7(latE7)},"long":${fromE7(longE7)}${speed}${end}`
  })
}

/** Battery records as text, one each; there is no GPX of them. */
export function batteryTexts(
  format: HistoryFormat,
  owner: HistoryOwner,
  rows: readonly StoredBattery[],
): string[] {
  if (format === 'csv') {
    return rows.map(({ atMs, voltageMv }) => `${owner.hardwareId},${toIso(atMs)},${fromMilli(voltageMv)}\r\n`)
  }
  const head = jsonHead('battery', owner)
  const end = format === 'json' ? '}' : '}\n'
  return rows.map(({ atMs, voltageMv }) => `${head(atMs)},"battery_voltage":${fromMilli(voltageMv)}${end}`)
}

function jsonHead(stream: TelemetryStream, { hardwareId, shortId }: HistoryOwner): (atMs: number) => string {
  const prefix = recordIdPrefix(hardwareId, stream)
  const owner = `,"device_id":${JSON.stringify(shortId)},"hardware_id":${JSON.stringify(hardwareId)},"timestamp":"`
  return (atMs) => `{"_id":"${recordId(prefix, atMs)}"${owner}${toIso(atMs)}"`
}
