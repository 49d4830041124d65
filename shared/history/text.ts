import { fromE7, fromMilli } from '#shared/geo.ts'
import { recordId, recordIdPrefix, type TelemetryStream } from '#shared/ids.ts'
import { type BatteryRecords, type GpsRecords, NO_SPEED } from '#shared/telemetry/records.ts'
import { toIso } from '#shared/time.ts'
import type { HistoryFormat } from '#shared/wire/telemetry.ts'
import { degrees, GPX_FOOT, gpxHead, gpxPoint } from './gpx.ts'

/** Device whose records are written. */
export interface HistoryOwner {
  hardwareId: string
  shortId: string
}

/** Text before and after the records of a history. */
export interface HistoryFrame {
  head: string
  foot: string
}

const CSV_COLUMNS: Record<TelemetryStream, string> = {
  gps: '_id,device_id,hardware_id,timestamp,lat,long,speed\r\n',
  battery: '_id,device_id,hardware_id,timestamp,battery_voltage\r\n',
}

/** Frame of a whole history; the title is the device's name. */
export function historyFrame(format: HistoryFormat, stream: TelemetryStream, title: string): HistoryFrame {
  switch (format) {
    case 'json':
      return { head: '[', foot: ']' }
    case 'ndjson':
      return { head: '', foot: '' }
    case 'csv':
      return { head: CSV_COLUMNS[stream], foot: '' }
    case 'geojson':
      return { head: '{"type":"FeatureCollection","features":[\n', foot: '\n]}\n' }
    case 'gpx':
      return { head: gpxHead(title), foot: GPX_FOOT }
  }
}

/** Separator between two records; empty in formats whose records have an end of their own. */
export function recordSeparator(format: HistoryFormat): string {
  if (format === 'geojson') return ',\n'
  return format === 'json' ? ',' : ''
}

/**
 * Formats GPS records, one text each, in the given order. `previousMs` is the time of the record before the first, null
 * at the beginning; only GPX uses it, and must be written in ascending order.
 */
export function gpsTexts(
  format: HistoryFormat,
  owner: HistoryOwner,
  { atMs, latE7, longE7, speedMilliKmh }: GpsRecords,
  order: Order,
  previousMs: number | null,
): string[] {
  const speedOf = (i: number) => speedMilliKmh[i] ?? NO_SPEED
  if (format === 'gpx') {
    return textsOf(atMs, order, (ms, i) =>
      gpxPoint(ms, latE7[i] ?? 0, longE7[i] ?? 0, speedOf(i), atMs[i - 1] ?? previousMs),
    )
  }
  if (format === 'csv') {
    const head = csvHead('gps', owner)
    return textsOf(atMs, order, (ms, i) => {
      const speed = speedOf(i) === NO_SPEED ? '' : fromMilli(speedOf(i))
      return `${head(ms)},${degrees(latE7[i] ?? 0)},${degrees(longE7[i] ?? 0)},${speed}\r\n`
    })
  }
  if (format === 'geojson') {
    const point = geojsonPoints(owner)
    return textsOf(atMs, order, (ms, i) => point(ms, latE7[i] ?? 0, longE7[i] ?? 0, speedOf(i)))
  }
  const head = jsonHead('gps', owner)
  const end = format === 'json' ? '}' : '}\n'
  return textsOf(atMs, order, (ms, i) => {
    const speed = speedOf(i) === NO_SPEED ? '' : `,"speed":${fromMilli(speedOf(i))}`
    return `${head(ms)},"lat":${fromE7(latE7[i] ?? 0)},"long":${fromE7(longE7[i] ?? 0)}${speed}${end}`
  })
}

/** Formats battery records, one text each, in the given order; they have no GPX form. */
export function batteryTexts(
  format: HistoryFormat,
  owner: HistoryOwner,
  { atMs, voltageMv }: BatteryRecords,
  order: Order,
): string[] {
  const volts = (i: number) => fromMilli(voltageMv[i] ?? 0)
  if (format === 'csv') {
    const head = csvHead('battery', owner)
    return textsOf(atMs, order, (ms, i) => `${head(ms)},${volts(i)}\r\n`)
  }
  const head = jsonHead('battery', owner)
  const end = format === 'json' ? '}' : '}\n'
  return textsOf(atMs, order, (ms, i) => `${head(ms)},"battery_voltage":${volts(i)}${end}`)
}

type Order = 'asc' | 'desc'

function textsOf(atMs: Float64Array, order: Order, text: (atMs: number, i: number) => string): string[] {
  const texts = Array.from(atMs, text)
  return order === 'asc' ? texts : texts.reverse()
}

function jsonHead(stream: TelemetryStream, { hardwareId, shortId }: HistoryOwner): (atMs: number) => string {
  const prefix = recordIdPrefix(hardwareId, stream)
  const owner = `,"device_id":${JSON.stringify(shortId)},"hardware_id":${JSON.stringify(hardwareId)},"timestamp":"`
  return (atMs) => `{"_id":"${recordId(prefix, atMs)}"${owner}${toIso(atMs)}"`
}

// None of the three ids contains a character that needs quotes in CSV.
function csvHead(stream: TelemetryStream, { hardwareId, shortId }: HistoryOwner): (atMs: number) => string {
  const prefix = recordIdPrefix(hardwareId, stream)
  return (atMs) => `${recordId(prefix, atMs)},${shortId},${hardwareId},${toIso(atMs)}`
}

type PointWriter = (atMs: number, latE7: number, longE7: number, speedMilliKmh: number) => string

/** Returns a writer of GPS records as GeoJSON features, with the fields of the JSON record. Source: RFC 7946 3.2 */
function geojsonPoints({ hardwareId, shortId }: HistoryOwner): PointWriter {
  const prefix = recordIdPrefix(hardwareId, 'gps')
  const owner = `"device_id":${JSON.stringify(shortId)},"hardware_id":${JSON.stringify(hardwareId)}`
  return (atMs, latE7, longE7, speedMilliKmh) => {
    const id = recordId(prefix, atMs)
    const speed = speedMilliKmh === NO_SPEED ? '' : `,"speed":${fromMilli(speedMilliKmh)}`
    return `{"type":"Feature","id":"${id}",\
"geometry":{"type":"Point","coordinates":[${fromE7(longE7)},${fromE7(latE7)}]},\
"properties":{${owner},"timestamp":"${toIso(atMs)}"${speed}}}`
  }
}
