import type { BatteryRecords, GpsRecords } from '#shared/telemetry/records.ts'
import type { HistoryFormat } from '#shared/wire/telemetry.ts'
import { batteryTexts, gpsTexts, type HistoryOwner, recordSeparator } from './text.ts'

/** Records of a device to read, with order and format; both bounds are inclusive. */
export interface HistoryRequest extends HistoryOwner {
  fromMs: number
  toMs: number
  order: 'asc' | 'desc'
  limit: number
  format: HistoryFormat
  /** Time of the last record of the previous page; null for the first page. */
  previousMs: number | null
}

export interface HistoryPage {
  /** Records as UTF-8 in the requested format, with its separator between them. */
  text: Uint8Array
  rows: number
  /** Time of the last record; the next page begins after it. */
  lastAtMs: number
}

/** Records of one page, oldest first. */
export type HistoryRecords = { gps: GpsRecords } | { battery: BatteryRecords }

const encoder = new TextEncoder()

export function historyPageOf(request: HistoryRequest, page: HistoryRecords): HistoryPage {
  const { fromMs, format, order, previousMs } = request
  const texts =
    'gps' in page
      ? gpsTexts(format, request, page.gps, order, previousMs)
      : batteryTexts(format, request, page.battery, order)
  const { atMs } = 'gps' in page ? page.gps : page.battery
  const text = encoder.encode(texts.join(recordSeparator(format)))
  return { text, rows: texts.length, lastAtMs: atMs.at(order === 'asc' ? -1 : 0) ?? fromMs }
}
