import { BATTERY, GPS, type GpsRecords } from '#shared/telemetry/records.ts'
import { type SimplifyOptions, simplifyTrack } from '#shared/telemetry/simplify-track.ts'
import type { TimeRange } from '../telemetry/reader.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'

/** Devices and range to read; fails if all devices together have more than `positionsMax` positions. */
export interface TrackColumnsQuery extends TimeRange {
  /** `label` has the fields of a device's JSON in addition to its columns. */
  devices: readonly { deviceId: number; label: Readonly<Record<string, string>> }[]
  positionsMax: number
  /** Null: all records, together with the voltages. */
  replay: (SimplifyOptions & { lookbackMs: number }) | null
}

export interface TrackColumns {
  /** JSON objects separated by commas, as UTF-8; empty for none. */
  text: Uint8Array
  positions: number
  /** True if there are more than `positionsMax` positions. */
  isTooMuch: boolean
}

const encoder = new TextEncoder()

/** Tracks as text, so that no record crosses the thread boundary as an object. */
export function readTrackColumns(tools: ReaderTools, query: TrackColumnsQuery): TrackColumns {
  const texts: string[] = []
  let positions = 0
  for (const { deviceId, label } of query.devices) {
    const columns = query.replay === null ? wholeOf(tools, deviceId, query) : replayOf(tools, deviceId, query)
    positions += columns.gps.at.length
    if (positions > query.positionsMax) return { text: new Uint8Array(), positions, isTooMuch: true }
    const isSeen = query.replay === null || columns.gps.at.length > 0
    if (isSeen) texts.push(JSON.stringify({ ...label, ...columns }))
  }
  return { text: encoder.encode(texts.join(',')), positions, isTooMuch: false }
}

function wholeOf(tools: ReaderTools, deviceId: number, query: TrackColumnsQuery) {
  const gps = readFixes(tools, deviceId, query)
  const all = Array.from({ length: gps.count }, (_, i) => i)
  const battery = tools.telemetry.read(BATTERY, deviceId, query, BATTERY.allocate)
  const { atMs, voltageMv } = battery.records
  const every = Array.from({ length: battery.count }, (_, i) => i)
  return {
    gps: gpsColumns(gps.records, all, query.fromMs),
    battery: {
      at: differences(every, (i) => (atMs[i] ?? 0) - query.fromMs),
      voltage: differences(every, (i) => voltageMv[i] ?? 0),
    },
  }
}

/** Simplified track, including the last position before the range. */
function replayOf(tools: ReaderTools, deviceId: number, query: TrackColumnsQuery) {
  const { fromMs, replay } = query
  const order = 'desc'
  const before = { fromMs: fromMs - (replay?.lookbackMs ?? 0), toMs: fromMs - 1, order, limit: 1 } as const
  const [earlierMs = fromMs] = tools.telemetry.page(GPS, deviceId, before).atMs
  const { records, count } = readFixes(tools, deviceId, { ...query, fromMs: earlierMs })
  const kept = replay === null ? [] : simplifyTrack(records, count, replay)
  return { gps: gpsColumns(records, kept, fromMs) }
}

function readFixes(tools: ReaderTools, deviceId: number, range: TimeRange) {
  return tools.telemetry.read(GPS, deviceId, range, (room) => tools.roomForFixes(room))
}

function gpsColumns({ atMs, latE7, longE7, speedMilliKmh }: GpsRecords, kept: readonly number[], fromMs: number) {
  return {
    at: differences(kept, (i) => (atMs[i] ?? 0) - fromMs),
    lat: differences(kept, (i) => latE7[i] ?? 0),
    long: differences(kept, (i) => longE7[i] ?? 0),
    speed: differences(kept, (i) => speedMilliKmh[i] ?? 0),
  }
}

/** Differences from the previous value, because small numbers are shorter. */
function differences(kept: readonly number[], read: (i: number) => number): number[] {
  let before = 0
  return kept.map((i) => {
    const value = read(i)
    const difference = value - before
    before = value
    return difference
  })
}
