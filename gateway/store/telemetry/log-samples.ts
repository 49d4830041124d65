import { DamagedBlockError, NewerBlockError } from '#shared/telemetry/damaged-block.ts'
import type { Connection } from '../db/connection.ts'
import { allocateBatch, type TelemetryBatch } from './batch.ts'
import { decodeLogRow } from './log-row.ts'

/** First and last row of the log, by their first sequence numbers. */
export interface LogEnds {
  readonly firstSeq: number
  readonly lastSeq: number
}

/** Bounds of the log; null while it is empty. */
export function logEnds(connection: Connection): LogEnds | null {
  const ends = connection.get<{ firstSeq: number | null; lastSeq: number | null }>(
    `SELECT (SELECT min(first_seq) FROM telemetry_log) AS firstSeq,
       (SELECT max(first_seq) FROM telemetry_log) AS lastSeq`,
  )
  const { firstSeq = null, lastSeq = null } = ends ?? {}
  return firstSeq === null || lastSeq === null ? null : { firstSeq, lastSeq }
}

/** Range of log rows; both bounds included. */
export interface LogRange {
  readonly fromSeq: number
  readonly throughSeq: number
  /** Excludes rows that extend past this sample. */
  readonly endSeq?: number
  /** Maximum number of samples; one row is always read. */
  readonly maxSamples: number
}

/** Samples of some rows of the log, concatenated in the order of the log. */
export interface LogSamples {
  readonly columns: TelemetryBatch
  readonly count: number
  /** Sequence number of the last sample read; null if there was no row. */
  readonly throughSeq: number | null
  /** Rows of a later version, which remain in the log. */
  readonly newerSeqs: readonly number[]
  /** Damaged row, if it is the first one of the range; a later one ends the read. */
  readonly damagedSeq: number | null
  /** First sequence number of the row of the sample at `index`. */
  rowOf(index: number): number
  /** Index of the first sample in the row of the sample at `index`. */
  startOfRow(index: number): number
}

interface LogRow {
  firstSeq: number
  samples: Uint8Array
}

/** A statement ends after this many samples, because a long one would delay a checkpoint. */
const SAMPLES_A_STATEMENT = 16_384
const ROWS_A_STATEMENT = 2_000

/** Reads rows of the log in order, up to the bounds of the range or to the next damaged row. */
export function readLogSamples(connection: Connection, range: LogRange): LogSamples {
  const reading = new Reading(range)
  let next: number | null = range.fromSeq
  while (next !== null) next = readSome(connection, reading, next, range.throughSeq)
  return reading
}

/** Start of the next statement; null at the end. The log only grows at its end: no common snapshot is needed. */
function readSome(connection: Connection, reading: Reading, fromSeq: number, throughSeq: number): number | null {
  const rows = connection
    .statement<LogRow>(
      `SELECT first_seq AS firstSeq, samples FROM telemetry_log
       WHERE first_seq BETWEEN ? AND ? ORDER BY first_seq LIMIT ${ROWS_A_STATEMENT}`,
    )
    .iterate(fromSeq, throughSeq)
  const stopAt = reading.count + SAMPLES_A_STATEMENT
  let lastSeq: number | null = null
  for (const row of rows) {
    if (!reading.add(row)) return null
    lastSeq = row.firstSeq
    if (reading.count >= stopAt) break
  }
  return lastSeq === null ? null : lastSeq + 1
}

class Reading implements LogSamples {
  columns: TelemetryBatch
  count = 0
  throughSeq: number | null = null
  readonly newerSeqs: number[] = []
  damagedSeq: number | null = null
  readonly #rowSeqs: number[] = []
  readonly #rowStarts: number[] = []
  readonly #maxSamples: number
  readonly #endSeq: number

  constructor({ maxSamples, endSeq = Number.POSITIVE_INFINITY }: LogRange) {
    this.#maxSamples = maxSamples
    this.#endSeq = endSeq
    this.columns = allocateBatch(Math.min(maxSamples, SAMPLES_A_STATEMENT * 2))
  }

  /** False for a row that belongs to the next read. */
  add({ firstSeq, samples }: LogRow): boolean {
    const row = this.#decode(firstSeq, samples)
    if (row === 'newer') return true
    if (row === null) return false
    if (this.count > 0 && this.count + row.count > this.#maxSamples) return false
    if (firstSeq + row.count - 1 > this.#endSeq) return false
    this.#reserve(this.count + row.count)
    this.#rowSeqs.push(firstSeq)
    this.#rowStarts.push(this.count)
    copyColumns(row, this.columns, this.count)
    this.count += row.count
    this.throughSeq = firstSeq + Math.max(row.count, 1) - 1
    return true
  }

  #decode(firstSeq: number, samples: Uint8Array): TelemetryBatch | 'newer' | null {
    try {
      return decodeLogRow(samples)
    } catch (error) {
      if (error instanceof NewerBlockError) {
        this.newerSeqs.push(firstSeq)
        this.throughSeq = firstSeq
        return 'newer'
      }
      if (!(error instanceof DamagedBlockError)) throw error
      if (this.throughSeq === null) this.damagedSeq = firstSeq
      return null
    }
  }

  #reserve(count: number): void {
    const room = this.columns.count
    if (count <= room) return
    const grown = allocateBatch(Math.max(count, Math.min(room * 2, this.#maxSamples)))
    copyColumns(this.columns, grown, 0)
    this.columns = grown
  }

  rowOf(index: number): number {
    return this.#rowSeqs[this.#placeOf(index)] ?? 0
  }

  startOfRow(index: number): number {
    return this.#rowStarts[this.#placeOf(index)] ?? 0
  }

  #placeOf(index: number): number {
    let low = 0
    let high = this.#rowStarts.length
    while (high - low > 1) {
      const middle = (low + high) >>> 1
      if ((this.#rowStarts[middle] ?? 0) <= index) low = middle
      else high = middle
    }
    return low
  }
}

function copyColumns(from: TelemetryBatch, into: TelemetryBatch, offset: number): void {
  into.deviceId.set(from.deviceId, offset)
  into.atMs.set(from.atMs, offset)
  into.latE7.set(from.latE7, offset)
  into.longE7.set(from.longE7, offset)
  into.speedMilliKmh.set(from.speedMilliKmh, offset)
  into.voltageMv.set(from.voltageMv, offset)
  into.streams.set(from.streams, offset)
}
