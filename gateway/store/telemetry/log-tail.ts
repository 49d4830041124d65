import type { TelemetryStream } from '#shared/ids.ts'
import { Connection } from '../db/connection.ts'
import {
  allocateBatch,
  decodeBatch,
  encodeBatch,
  HAS_BATTERY,
  HAS_GPS,
  sampleCountOf,
  type TelemetryBatch,
} from './batch.ts'
import { BlockTimes } from './block-times.ts'

const NO_CHANGES = new Uint8Array()

/** Times of a device's stream: those in the log, ascending, and the newest one stored anywhere. */
interface StoredTimes {
  logged: number[]
  newestMs: number
}

/**
 * Cache of the end of the telemetry log in the writer thread, so that a sample that is already in the log or in a block
 * is not stored again. It matches the database; after a failed transaction it is loaded again.
 */
export class LogTail {
  readonly #connection: Connection
  readonly #blockTimes: BlockTimes
  #devices: Map<number, { gps: StoredTimes; battery: StoredTimes }> | undefined
  #nextSeq = 1
  #isTouched = false

  constructor(connection: Connection) {
    this.#connection = connection
    this.#blockTimes = new BlockTimes(connection)
  }

  /**
   * Appends the new samples of the batch to the log as one row, with the state changes of devices; adds no row if none
   * is new. Returns the `HAS_GPS` and `HAS_BATTERY` bits of the new records of each sample.
   */
  append(batch: TelemetryBatch, stateChanges: Uint8Array = NO_CHANGES): Uint8Array {
    this.#isTouched = true
    const streams = batch.streams.map((has, i) => this.#remember(batch, i, has))
    const fresh = withoutStored(batch, streams)
    if (fresh === null) return streams
    this.#connection.run(
      'INSERT INTO telemetry_log (first_seq, samples, state_changes) VALUES (?, ?, ?)',
      this.#nextSeq,
      encodeBatch(fresh),
      stateChanges.length === 0 ? null : stateChanges,
    )
    this.#nextSeq += fresh.count
    return streams
  }

  /** First and last logged time of a device's stream; null if it has none in the log. */
  bounds(stream: TelemetryStream, deviceId: number): { firstMs: number; lastMs: number } | null {
    // the result may be valid in this transaction only, which may have deleted blocks
    this.#isTouched = true
    const { logged } = this.#times(deviceId)[stream]
    const [firstMs, lastMs] = [logged[0], logged.at(-1)]
    return firstMs === undefined || lastMs === undefined ? null : { firstMs, lastMs }
  }

  /** Removes log rows that are in blocks now. Does not read the rest of a long log again, which would delay devices. */
  dropped(rows: readonly Uint8Array[]): void {
    this.#isTouched = true
    const devices = this.#devices
    if (devices === undefined) return
    const gone = new Map<number, { gps: number[]; battery: number[] }>()
    for (const row of rows) {
      const batch = decoded(row)
      if (batch === null) {
        this.forget()
        return
      }
      const { count, deviceId, atMs, streams } = batch
      for (let i = 0; i < count; i++) {
        const id = deviceId[i] ?? 0
        let times = gone.get(id)
        if (times === undefined) {
          times = { gps: [], battery: [] }
          gone.set(id, times)
        }
        const has = streams[i] ?? 0
        if ((has & HAS_GPS) !== 0) times.gps.push(atMs[i] ?? 0)
        if ((has & HAS_BATTERY) !== 0) times.battery.push(atMs[i] ?? 0)
      }
    }
    for (const [id, { gps, battery }] of gone) {
      const times = devices.get(id)
      if (times === undefined) continue
      times.gps.logged = without(times.gps.logged, gps)
      times.battery.logged = without(times.battery.logged, battery)
    }
  }

  /** Discards the cache after the log was shortened; it is loaded again on demand. */
  forget(): void {
    this.#devices = undefined
    this.#isTouched = false
  }

  close(): void {
    this.#blockTimes.close()
  }

  /** Called when the transaction is on the disk. */
  committed(): void {
    this.#isTouched = false
  }

  /** Called when the transaction failed; discards what it cached. */
  rolledBack(): void {
    if (this.#isTouched) this.forget()
  }

  /** Returns the streams of a sample that are new. */
  #remember({ deviceId, atMs }: TelemetryBatch, i: number, has: number): number {
    const times = this.#times(deviceId[i] ?? 0)
    const at = atMs[i] ?? 0
    const id = deviceId[i] ?? 0
    const gps = (has & HAS_GPS) !== 0 && this.#isNew('gps', id, times.gps, at) ? HAS_GPS : 0
    const battery = (has & HAS_BATTERY) !== 0 && this.#isNew('battery', id, times.battery, at) ? HAS_BATTERY : 0
    return gps | battery
  }

  #isNew(stream: TelemetryStream, deviceId: number, times: StoredTimes, atMs: number): boolean {
    const { logged, newestMs } = times
    if (atMs > newestMs) {
      logged.push(atMs)
      times.newestMs = atMs
      return true
    }
    const at = placeOf(logged, atMs)
    if (logged[at] === atMs || this.#blockTimes.has(stream, deviceId, atMs)) return false
    logged.splice(at, 0, atMs)
    return true
  }

  #times(deviceId: number): { gps: StoredTimes; battery: StoredTimes } {
    this.#devices ??= this.#load()
    let times = this.#devices.get(deviceId)
    if (times === undefined) {
      times = { gps: this.#stored('gps', deviceId), battery: this.#stored('battery', deviceId) }
      this.#devices.set(deviceId, times)
    }
    return times
  }

  #stored(stream: TelemetryStream, deviceId: number): StoredTimes {
    return { logged: [], newestMs: this.#blockTimes.newestMs(stream, deviceId) }
  }

  #load(): Map<number, { gps: StoredTimes; battery: StoredTimes }> {
    this.#devices = new Map()
    const { nextSeq } = this.#connection.get<{ nextSeq: number }>('SELECT next_seq FROM telemetry_log_end') ?? {
      nextSeq: 1,
    }
    this.#nextSeq = nextSeq
    // one row at a time: a log that could not be sealed for a long time is large
    const rows = this.#connection
      .statement<{ firstSeq: number; samples: Uint8Array }>(
        'SELECT first_seq AS firstSeq, samples FROM telemetry_log ORDER BY first_seq',
      )
      .iterate()
    for (const { firstSeq, samples } of rows) {
      this.#nextSeq = Math.max(this.#nextSeq, firstSeq + sampleCountOf(samples))
      this.#takeUp(samples)
    }
    for (const { gps, battery } of this.#devices.values()) {
      for (const times of [gps, battery]) {
        times.logged.sort((a, b) => a - b)
        times.newestMs = Math.max(times.newestMs, times.logged.at(-1) ?? times.newestMs)
      }
    }
    return this.#devices
  }

  #takeUp(samples: Uint8Array): void {
    const batch = decoded(samples)
    // the sealing of this row reports it; its records count as not stored
    if (batch === null) return
    for (let i = 0; i < batch.count; i++) {
      const times = this.#times(batch.deviceId[i] ?? 0)
      const has = batch.streams[i] ?? 0
      if ((has & HAS_GPS) !== 0) times.gps.logged.push(batch.atMs[i] ?? 0)
      if ((has & HAS_BATTERY) !== 0) times.battery.logged.push(batch.atMs[i] ?? 0)
    }
  }
}

function decoded(samples: Uint8Array): TelemetryBatch | null {
  try {
    return decodeBatch(samples)
  } catch {
    return null
  }
}

/** Samples with new records, without their stored ones; null if none is new. */
function withoutStored(batch: TelemetryBatch, streams: Uint8Array): TelemetryBatch | null {
  const count = streams.reduce((sum, has) => sum + Number(has !== 0), 0)
  if (count === 0) return null
  const fresh = allocateBatch(count)
  let to = 0
  for (let from = 0; from < batch.count; from++) {
    const has = streams[from] ?? 0
    if (has === 0) continue
    fresh.deviceId[to] = batch.deviceId[from] ?? 0
    fresh.atMs[to] = batch.atMs[from] ?? 0
    fresh.streams[to] = has
    if ((has & HAS_GPS) !== 0) {
      fresh.latE7[to] = batch.latE7[from] ?? 0
      fresh.longE7[to] = batch.longE7[from] ?? 0
      fresh.speedMilliKmh[to] = batch.speedMilliKmh[from] ?? 0
    }
    if ((has & HAS_BATTERY) !== 0) fresh.voltageMv[to] = batch.voltageMv[from] ?? 0
    to++
  }
  return fresh
}

/** Ascending times without those of `gone`. Visits only the affected range, because a log may be long. */
function without(times: number[], gone: number[]): number[] {
  // already in order nearly always
  gone.sort((a, b) => a - b)
  const from = placeOf(times, gone[0] ?? 0)
  const to = placeOf(times, (gone.at(-1) ?? -1) + 1)
  const left: number[] = []
  let next = 0
  for (let i = from; i < to; i++) {
    const time = times[i] ?? 0
    while ((gone[next] ?? time) < time) next++
    if (gone[next] !== time) left.push(time)
  }
  if (left.length > 0) return [...times.slice(0, from), ...left, ...times.slice(to)]
  times.splice(from, to - from)
  return times
}

/** Index of a time among ascending times, or its insertion point. */
function placeOf(times: readonly number[], atMs: number): number {
  let low = 0
  let high = times.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((times[middle] ?? Number.POSITIVE_INFINITY) < atMs) low = middle + 1
    else high = middle
  }
  return low
}

/** The writing connection, with its cache of the telemetry log. */
export class WriterTables extends Connection {
  readonly tail: LogTail = new LogTail(this)

  override close(): void {
    this.tail.close()
    super.close()
  }
}
