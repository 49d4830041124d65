import type { DamageReason } from '../../shared/damaged-block.ts'
import {
  type BatteryRecords,
  GPS,
  type GpsRecords,
  NO_SPEED,
  type RecordKind,
  type Records,
} from '../../shared/telemetry-records.ts'
import type { Connection } from './connection.ts'

/** Which records; both bounds included, in milliseconds since 1970. */
export interface TimeRange {
  readonly fromMs: number
  readonly toMs: number
}

/** A block that was found not to be what was written, or written by a newer program. */
export interface UnreadableBlock {
  blockId: number
  reason: DamageReason | 'newer_version'
}

/** Reads the records of a device, wherever they are kept. One for each connection. */
export class TelemetryReader {
  readonly #connection: Connection
  #unreadable: UnreadableBlock[] = []

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Runs `work` on one state of the database. */
  snapshot<Result>(work: () => Result): Result {
    return this.#connection.db.transaction(work).deferred()
  }

  /** The room `readInto` needs: at least as many records as there are. */
  roomFor<R extends Records>(kind: RecordKind<R>, deviceId: number, { fromMs, toMs }: TimeRange): number {
    const row = this.#connection.get<{ count: number }>(
      `SELECT count(*) AS count FROM ${kind.name} WHERE device_id = ? AND at_ms BETWEEN ? AND ?`,
      deviceId,
      fromMs,
      toMs,
    )
    return row?.count ?? 0
  }

  /** Reads all records of the range into columns with room for them, oldest first. Returns how many they are. */
  readInto<R extends Records>(kind: RecordKind<R>, deviceId: number, range: TimeRange, into: R): number {
    const records = this.page(kind, deviceId, { ...range, order: 'asc', limit: Number.MAX_SAFE_INTEGER })
    into.atMs.set(records.atMs)
    const columns = kind.columnsOf(into)
    for (const [i, column] of kind.columnsOf(records).entries()) columns[i]?.set(column)
    return records.atMs.length
  }

  /** Up to `limit` records of the range from its beginning (`asc`) or its end (`desc`); oldest first either way. */
  page<R extends Records>(
    kind: RecordKind<R>,
    deviceId: number,
    { fromMs, toMs, order, limit }: TimeRange & { order: 'asc' | 'desc'; limit: number },
  ): R {
    const range = `WHERE device_id = ? AND at_ms BETWEEN ? AND ? ORDER BY at_ms ${order} LIMIT ?`
    const rows = this.#connection.all<Record<string, number | null>>(
      `SELECT * FROM ${kind.name} ${range}`,
      deviceId,
      fromMs,
      toMs,
      limit,
    )
    if (order === 'desc') rows.reverse()
    const column = (name: string) => Int32Array.from(rows, (row) => row[name] ?? NO_SPEED)
    const atMs = Float64Array.from(rows, (row) => row.at_ms ?? 0)
    const gps: GpsRecords = {
      atMs,
      latE7: column('lat_e7'),
      longE7: column('long_e7'),
      speedMilliKmh: column('speed_milli_kmh'),
    }
    const battery: BatteryRecords = { atMs, voltageMv: column('voltage_mv') }
    return (kind.name === GPS.name ? gps : battery) as unknown as R
  }

  /** Blocks that could not be read since this was last asked; what else there is was read all the same. */
  takeUnreadable(): UnreadableBlock[] {
    const found = this.#unreadable
    this.#unreadable = []
    return found
  }
}
