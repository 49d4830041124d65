import type { RecordKind, Records } from '#shared/telemetry/records.ts'
import { startOfDayMs } from '#shared/time.ts'
import type { Connection } from '../db/connection.ts'
import { allocateBatch, decodeBatch, HAS_BATTERY, HAS_GPS, type TelemetryBatch } from './batch.ts'

/** Indexes of the samples of a device's stream among all samples; by time once `isAscending`. */
interface Places {
  at: number[]
  isAscending: boolean
}

/** Copy of the telemetry log in memory, for a reader thread: reads only the rows appended since the last refresh. */
export class LoggedSamples {
  readonly #connection: Connection
  #samples: TelemetryBatch = allocateBatch(0)
  #count = 0
  #cuts = 0
  #lastRow = 0
  #devices = new Map<number, { gps: Places; battery: Places }>()

  constructor(connection: Connection) {
    this.#connection = connection
  }

  refresh(): void {
    const { cuts, last } = this.#connection.get<{ cuts: number; last: number | null }>(
      'SELECT cuts, (SELECT max(first_seq) FROM telemetry_log) AS last FROM telemetry_log_end',
    ) ?? { cuts: 0, last: null }
    if (cuts !== this.#cuts) this.#clear(cuts)
    if (last === null || last === this.#lastRow) return
    for (const { firstSeq, samples } of this.#connection
      .statement<{ firstSeq: number; samples: Uint8Array }>(
        'SELECT first_seq AS firstSeq, samples FROM telemetry_log WHERE first_seq > +? ORDER BY first_seq',
      )
      .iterate(this.#lastRow)) {
      this.#takeUp(samples)
      // the next row may be unreadable for now: the rows before it must not be added twice
      this.#lastRow = firstSeq
    }
  }

  /** Samples of the range, oldest first; at most `limit` from its beginning or its end. */
  records<R extends Records>(
    kind: RecordKind<R>,
    deviceId: number,
    { fromMs, toMs, order, limit }: { fromMs: number; toMs: number; order: 'asc' | 'desc'; limit: number },
  ): R {
    const places = this.#sorted(kind.name, deviceId)
    let from = this.#firstAfter(places, fromMs - 1)
    let to = this.#firstAfter(places, toMs)
    if (to - from > limit) {
      if (order === 'asc') to = from + limit
      else from = to - limit
    }
    const records = kind.allocate(Math.max(0, to - from))
    const columns = kind.columnsOf(records)
    const sources = SOURCES[kind.name].map((name) => this.#samples[name])
    for (let i = from; i < to; i++) {
      const place = places[i] ?? 0
      records.atMs[i - from] = this.#samples.atMs[place] ?? 0
      for (let c = 0; c < columns.length; c++) {
        const column = columns[c]
        if (column !== undefined) column[i - from] = sources[c]?.[place] ?? 0
      }
    }
    return records
  }

  count(kind: RecordKind<never>['name'], deviceId: number, fromMs: number, toMs: number): number {
    const places = this.#sorted(kind, deviceId)
    return Math.max(0, this.#firstAfter(places, toMs) - this.#firstAfter(places, fromMs - 1))
  }

  /** Midnights (UTC) of the days with samples. */
  days(stream: 'gps' | 'battery'): number[] {
    const days = new Set<number>()
    for (const device of this.#devices.values()) {
      for (const place of device[stream].at) days.add(startOfDayMs(this.#samples.atMs[place] ?? 0))
    }
    return [...days]
  }

  #sorted(stream: 'gps' | 'battery', deviceId: number): number[] {
    const places = this.#devices.get(deviceId)?.[stream]
    if (places === undefined) return []
    if (!places.isAscending) {
      const { atMs } = this.#samples
      places.at.sort((a, b) => (atMs[a] ?? 0) - (atMs[b] ?? 0))
      places.isAscending = true
    }
    return places.at
  }

  #firstAfter(places: readonly number[], atMs: number): number {
    let low = 0
    let high = places.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#samples.atMs[places[middle] ?? 0] ?? 0) <= atMs) low = middle + 1
      else high = middle
    }
    return low
  }

  #clear(cuts: number): void {
    this.#samples = allocateBatch(0)
    this.#count = 0
    this.#cuts = cuts
    this.#lastRow = 0
    this.#devices = new Map()
  }

  #takeUp(bytes: Uint8Array): void {
    let batch: TelemetryBatch
    try {
      batch = decodeBatch(bytes)
    } catch {
      // the sealing of this row reports it
      return
    }
    const begin = this.#count
    this.#reserve(begin + batch.count)
    for (const name of COLUMNS) this.#samples[name].set(batch[name], begin)
    this.#count += batch.count
    for (let i = 0; i < batch.count; i++) {
      const device = this.#device(batch.deviceId[i] ?? 0)
      const has = batch.streams[i] ?? 0
      if ((has & HAS_GPS) !== 0) this.#add(device.gps, begin + i)
      if ((has & HAS_BATTERY) !== 0) this.#add(device.battery, begin + i)
    }
  }

  #device(deviceId: number): { gps: Places; battery: Places } {
    let device = this.#devices.get(deviceId)
    if (device === undefined) {
      device = { gps: { at: [], isAscending: true }, battery: { at: [], isAscending: true } }
      this.#devices.set(deviceId, device)
    }
    return device
  }

  #add(places: Places, place: number): void {
    const last = places.at.at(-1)
    const { atMs } = this.#samples
    if (last !== undefined && (atMs[place] ?? 0) < (atMs[last] ?? 0)) places.isAscending = false
    places.at.push(place)
  }

  #reserve(count: number): void {
    if (count <= this.#samples.count) return
    const larger = allocateBatch(Math.max(count, this.#samples.count * 2, 1024))
    for (const name of COLUMNS) larger[name].set(this.#samples[name].subarray(0, this.#count))
    this.#samples = larger
  }
}

/** Columns of each kind, in the order of its `columnsOf`. */
const SOURCES = { gps: ['latE7', 'longE7', 'speedMilliKmh'], battery: ['voltageMv'] } as const

const COLUMNS = ['deviceId', 'atMs', 'latE7', 'longE7', 'speedMilliKmh', 'voltageMv', 'streams'] as const
