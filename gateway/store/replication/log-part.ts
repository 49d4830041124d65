import type { PartLimits, StreamPart } from '#shared/sync-source.ts'
import { BATTERY, GPS } from '#shared/telemetry/records.ts'
import { encodeRuns, type TelemetryRun } from '#shared/telemetry/runs.ts'
import type { Connection } from '../db/connection.ts'
import { partBound } from '../ledger/erase-marks.ts'
import { HAS_BATTERY, HAS_GPS, recordsIn, sampleCountOf, type TelemetryBatch } from '../telemetry/batch.ts'
import { type LogSamples, logEnds, readLogSamples } from '../telemetry/log-samples.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'
import { groupByDevice, recordsOf } from '../telemetry/samples-by-device.ts'

/** Batch of log samples; null if nothing may be sent. */
export interface LogPart {
  readonly part: StreamPart | null
  /** Damaged row that comes next: it must be quarantined before later rows are sent. */
  readonly damagedSeq: number | null
}

/** End of a batch, by index and by sequence number. */
interface Cut {
  readonly samples: LogSamples
  readonly from: number
  readonly to: number
}

/** Share of the space to fill after a batch turned out too large. */
const SAFETY = 0.95

/** Samples after a position: whole rows unless one is too large, without deleted devices and a newer program's rows. */
export function nextLogPart(
  { connection }: ReaderTools,
  { after, limits }: { after: number; limits: PartLimits },
): LogPart {
  const lastRow = connection.db.transaction(() => lastRowOfPart(connection, after)).deferred()
  let fromSeq = firstRowOfPart(connection, after)
  while (lastRow !== null && fromSeq <= lastRow) {
    const samples = readLogSamples(connection, { fromSeq, throughSeq: lastRow, maxSamples: limits.rows })
    const { throughSeq, damagedSeq } = samples
    if (throughSeq === null) return { part: null, damagedSeq }
    if (throughSeq > after) return { part: fittingPart(connection, samples, after, limits), damagedSeq: null }
    // only skipped rows of a newer program
    fromSeq = throughSeq + 1
  }
  return { part: null, damagedSeq: null }
}

/** A mark is the last number assigned at its time, so that it never lies within a row. */
function lastRowOfPart(connection: Connection, after: number): number | null {
  const bound = partBound(connection, 'telemetry', after)
  const ends = logEnds(connection)
  return bound === null || ends === null ? null : Math.min(bound, ends.lastSeq)
}

/** Row of the sample after `after`, if it is still in the log. */
function firstRowOfPart(connection: Connection, after: number): number {
  const row = connection.get<{ firstSeq: number; byteLength: number }>(
    // `+?`: see block-rows.ts; reads only the length, which determines the number of samples
    `SELECT first_seq, length(samples) AS byteLength FROM telemetry_log
     WHERE first_seq <= +? ORDER BY first_seq DESC LIMIT 1`,
    after,
  )
  return row !== undefined && row.firstSeq + sampleCountOf(row) > after + 1 ? row.firstSeq : after + 1
}

function fittingPart(connection: Connection, samples: LogSamples, after: number, limits: PartLimits): StreamPart {
  const from = indexBehind(samples, after)
  let cut = { samples, from, to: cutAt(samples, from, limits.rows) }
  for (;;) {
    const part = makePart(connection, cut)
    const size = cut.to - cut.from
    if (part.data.length <= limits.bytes || size <= 1) return part
    const share = Math.floor((part.count * limits.bytes * SAFETY) / part.data.length)
    const to = cutAt(samples, from, share)
    cut = { samples, from, to: Math.min(to, from + size - 1) }
  }
}

/** End of the samples with `records` records: after a whole row if there is one. */
function cutAt(samples: LogSamples, from: number, records: number): number {
  const { streams } = samples.columns
  let to = from
  let count = 0
  for (; to < samples.count; to++) {
    count += recordsIn(streams[to] ?? 0)
    if (count > records) break
  }
  if (to === samples.count) return to
  const start = samples.startOfRow(to)
  return start > from ? start : Math.max(to, from + 1)
}

function makePart(connection: Connection, { samples, from, to }: Cut): StreamPart {
  const columns = sliceOf(samples.columns, from, to)
  const runs = runsOf(connection, columns)
  let count = 0
  let oldestMs = Number.POSITIVE_INFINITY
  for (const { records } of runs) {
    count += records.atMs.length
    oldestMs = Math.min(oldestMs, records.atMs[0] ?? oldestMs)
  }
  return {
    to: to === samples.count ? (samples.throughSeq ?? 0) : seqOf(samples, to) - 1,
    count,
    encoding: 'runs-1',
    // occupies all of its memory, so that it is transferred and not copied with an unused rest
    data: new Uint8Array(encodeRuns(runs)),
    oldestMs: count === 0 ? null : oldestMs,
  }
}

function runsOf(connection: Connection, columns: TelemetryBatch): TelemetryRun[] {
  const runs: TelemetryRun[] = []
  for (const samples of groupByDevice(columns, columns.count)) {
    const device = connection.get<{ hardwareId: string }>(
      'SELECT hardware_id FROM device WHERE device_id = ?',
      samples.deviceId,
    )
    if (device === undefined) continue
    const { hardwareId } = device
    const gps = recordsOf(GPS, HAS_GPS, samples)
    if (gps.atMs.length > 0) runs.push({ hardwareId, stream: 'gps', records: gps })
    const battery = recordsOf(BATTERY, HAS_BATTERY, samples)
    if (battery.atMs.length > 0) runs.push({ hardwareId, stream: 'battery', records: battery })
  }
  return runs
}

function seqOf(samples: LogSamples, index: number): number {
  return samples.rowOf(index) + index - samples.startOfRow(index)
}

/** Index of the first sample after `after`. */
function indexBehind(samples: LogSamples, after: number): number {
  let low = 0
  let high = samples.count
  while (low < high) {
    const middle = (low + high) >>> 1
    if (seqOf(samples, middle) <= after) low = middle + 1
    else high = middle
  }
  return low
}

function sliceOf(batch: TelemetryBatch, from: number, to: number): TelemetryBatch {
  return {
    count: to - from,
    deviceId: batch.deviceId.subarray(from, to),
    atMs: batch.atMs.subarray(from, to),
    latE7: batch.latE7.subarray(from, to),
    longE7: batch.longE7.subarray(from, to),
    speedMilliKmh: batch.speedMilliKmh.subarray(from, to),
    voltageMv: batch.voltageMv.subarray(from, to),
    streams: batch.streams.subarray(from, to),
  }
}
