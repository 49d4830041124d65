import type { TelemetryStream } from '#shared/ids.ts'
import { DamagedBlockError, NewerBlockError } from '#shared/telemetry/damaged-block.ts'
import type { Connection } from '../db/connection.ts'
import { decodeBatch, HAS_BATTERY, HAS_GPS } from './batch.ts'
import { type DeviceState, STATE_COLUMNS, type StateRow, stateOfRow } from './device-state.ts'
import { applyStateChanges } from './state-changes.ts'

/** Records of a device's stream that its row does not count yet. */
export interface NewRecords {
  count: number
  firstMs: number
  lastMs: number
}

export type NewRecordsOf = { [Stream in TelemetryStream]: NewRecords }

/** Row of the log that is newer than the rows of `device_state`. */
interface LoggedRow {
  firstSeq: number
  samples: Uint8Array
  changes: Uint8Array | null
}

const NEWER_ROWS = `SELECT first_seq AS firstSeq, samples, state_changes AS changes FROM telemetry_log
  WHERE first_seq > +? ORDER BY first_seq`

/** Last log row that is included in `device_state`, and the last row of the log. */
export interface SavePosition {
  savedSeq: number
  lastSeq: number | null
}

export function savedUntil(connection: Connection): SavePosition {
  const found = connection.get<SavePosition>(
    `SELECT saved_seq, (SELECT max(first_seq) FROM telemetry_log) AS lastSeq
     FROM telemetry_log_end`,
  )
  return found ?? { savedSeq: 0, lastSeq: null }
}

/** Counts records by device. Unreadable rows are not counted; their sealing reports them. */
export class RecordCounts {
  readonly byDevice = new Map<number, NewRecordsOf>()

  add(samples: Uint8Array): void {
    const batch = nullIfDamaged(() => decodeBatch(samples))
    if (batch === null) return
    for (let i = 0; i < batch.count; i++) {
      const has = batch.streams[i] ?? 0
      if (has === 0) continue
      const device = this.#of(batch.deviceId[i] ?? 0)
      const atMs = batch.atMs[i] ?? 0
      if ((has & HAS_GPS) !== 0) count(device.gps, atMs)
      if ((has & HAS_BATTERY) !== 0) count(device.battery, atMs)
    }
  }

  #of(deviceId: number): NewRecordsOf {
    let device = this.byDevice.get(deviceId)
    if (device === undefined) {
      device = { gps: nothingNew(), battery: nothingNew() }
      this.byDevice.set(deviceId, device)
    }
    return device
  }
}

function count(records: NewRecords, atMs: number): void {
  records.count++
  if (atMs < records.firstMs) records.firstMs = atMs
  if (atMs > records.lastMs) records.lastMs = atMs
}

function nothingNew(): NewRecords {
  return { count: 0, firstMs: Number.POSITIVE_INFINITY, lastMs: Number.NEGATIVE_INFINITY }
}

/** Counts the records that rows of `device_state` lack, for a connection that reads; reads only new rows of the log. */
export class UnsavedRecords {
  readonly #connection: Connection
  #counts = new RecordCounts()
  #savedSeq = -1
  #lastSeq = 0

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Must be called in the snapshot in which the rows are read. */
  counts(): RecordCounts {
    const { savedSeq, lastSeq } = savedUntil(this.#connection)
    if (savedSeq !== this.#savedSeq) {
      this.#counts = new RecordCounts()
      this.#savedSeq = savedSeq
      this.#lastSeq = savedSeq
    }
    if (lastSeq === null || lastSeq <= this.#lastSeq) return this.#counts
    for (const { firstSeq, samples } of this.#connection.statement<LoggedRow>(NEWER_ROWS).iterate(this.#lastSeq)) {
      this.#counts.add(samples)
      this.#lastSeq = firstSeq
    }
    return this.#counts
  }
}

/** Content of the log beyond the rows of `device_state`: newer states, and records to count. */
export interface UnsavedState {
  states: ReadonlyMap<number, DeviceState>
  records: RecordCounts
}

/** Reads it in one snapshot, or in the transaction that saves it. */
export function readUnsaved(connection: Connection): UnsavedState {
  const states = new Map<number, DeviceState | undefined>()
  const stateOf = (deviceId: number): DeviceState | undefined => {
    if (!states.has(deviceId)) states.set(deviceId, storedState(connection, deviceId))
    return states.get(deviceId)
  }
  const take = (changes: Uint8Array | null) => {
    if (changes !== null) nullIfDamaged(() => applyStateChanges(changes, stateOf))
  }
  const records = new RecordCounts()
  // few rows: each save deletes them
  const unlogged = connection.all<{ afterSeq: number; changes: Uint8Array }>(
    'SELECT after_seq, changes FROM state_change ORDER BY after_seq, state_change_id',
  )
  let next = 0
  const { savedSeq } = savedUntil(connection)
  for (const row of connection.statement<LoggedRow>(NEWER_ROWS).iterate(savedSeq)) {
    for (; (unlogged[next]?.afterSeq ?? row.firstSeq) < row.firstSeq; next++) take(unlogged[next]?.changes ?? null)
    records.add(row.samples)
    take(row.changes)
  }
  for (const { changes } of unlogged.slice(next)) take(changes)
  const moved = new Map<number, DeviceState>()
  for (const [deviceId, state] of states) if (state !== undefined) moved.set(deviceId, state)
  return { states: moved, records }
}

function storedState(connection: Connection, deviceId: number): DeviceState | undefined {
  const row = connection.get<StateRow>(`SELECT ${STATE_COLUMNS} FROM device_state s WHERE s.device_id = ?`, deviceId)
  return row === undefined ? undefined : stateOfRow(row)
}

/** Null if the bytes are damaged or a newer version wrote them. */
function nullIfDamaged<Result>(read: () => Result): Result | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof DamagedBlockError || error instanceof NewerBlockError) return null
    throw error
  }
}
