import { isPlausibleTime, receiveTimeMs } from '#domain/event-time.ts'
import { packSample } from '#domain/latest-state.ts'
import { isJsonObject, parseSample, type Sample, type Scalar } from '#domain/telemetry.ts'
import type { Move, ReportedRun } from '#gateway/events.ts'
import type { GeofenceEventRow } from '#store/geofence-events.ts'
import { SAMPLE_NUMBERS } from '#store/telemetry/store-samples.ts'
import type { Appendable } from '#store/writer/commit-queue.ts'
import type { Device } from '../fleet.ts'
import type { DeviceConnection } from '../presence.ts'
import type { UplinkMessage } from './message.ts'
import type { RunColumns } from './run-columns.ts'
import { LIVE_MS } from './zone-crossings.ts'

/** Whose bytes a run reads, and whom it tells what became of its messages, by their places in it. */
export interface RunSource {
  readonly device: Device
  readonly connection: DeviceConnection
  /** What came of its connection in one read. */
  readonly bytes: Buffer
  onStored: (from: number, count: number) => void
  onRefused: (reason: string, count: number) => void
}

/** Where a run puts its numbers, when it began, until when times are believed, and who takes it in the end. */
interface RunStart {
  columns: RunColumns
  receivedAtMs: number
  latestMs: number
  onEnd: (run: Run) => void
}

const NOTHING: readonly never[] = []

/**
 * Messages of one device, one plain reading each, on the fast lane: read in place, in order, from bytes that came
 * together. Their numbers go into columns at once; whatever else they say stays in the bytes and is read again by the
 * few who ask, so that a message leaves nothing behind that has to be kept, copied and collected.
 */
export class Run implements Appendable, ReportedRun {
  readonly device: Device
  readonly connection: DeviceConnection
  readonly receivedAtMs: number
  readonly latestMs: number
  readonly sessionChanges = NOTHING
  /** How many messages there are. */
  rows = 0
  /** Each is later than the one before it. */
  isAscending = true
  newestMs = 0
  /** The newest value of each key, and its time, if `isAscending`. */
  values: Record<string, Scalar> = {}
  valueAtMs: Record<string, number> = {}
  /** Places of those that only go to history; filled in by `draft`, like the zones entered and left. */
  late: readonly number[] = NOTHING
  crossings: readonly GeofenceEventRow[] = NOTHING
  /** What of each was new, by `AppendResult.sampleFlags`; null until it is committed. */
  stored: Uint8Array | null = null
  readonly #source: RunSource
  readonly #columns: RunColumns
  readonly #firstRow: number
  readonly #onEnd: (run: Run) => void
  #moves: readonly Move[] | null = null

  constructor(source: RunSource, { columns, receivedAtMs, latestMs, onEnd }: RunStart) {
    this.#source = source
    this.#onEnd = onEnd
    this.#columns = columns
    this.#firstRow = columns.used
    this.device = source.device
    this.connection = source.connection
    this.receivedAtMs = receivedAtMs
    this.latestMs = latestMs
  }

  /**
   * Takes the message whose payload lies in the bytes there. False, and nothing is taken, unless it is one object with a
   * recent time of its own, all of which can be used.
   */
  add(from: number, to: number): boolean {
    const row = this.#firstRow + this.rows
    const sample = this.#columns.hasRoom(row) ? this.#read(from, to) : null
    if (sample === null) return false
    const { device, receivedAtMs, latestMs } = this
    this.#columns.set(row, from, to)
    packSample(this.#columns.numbers, row * SAMPLE_NUMBERS, device.row.deviceId, sample)
    this.#note(sample)
    this.rows++
    device.newestReceiveMs = receiveTimeMs(receivedAtMs, device.newestReceiveMs, latestMs)
    return true
  }

  /** Sends its messages, at least one, on their way to the disk; the next run begins behind them. */
  end(): void {
    this.#columns.used = this.#firstRow + this.rows
    this.#onEnd(this)
  }

  /** Where the payload of a message begins and ends in the bytes. */
  startOf(place: number): number {
    return this.#columns.from(this.#firstRow + place)
  }

  endOf(place: number): number {
    return this.#columns.to(this.#firstRow + place)
  }

  /** All that a message says. */
  sampleAt(place: number): Sample {
    const sample = this.#read(this.startOf(place), this.endOf(place))
    if (sample === null) throw new Error('a reading that was taken cannot be read again')
    return sample
  }

  /** The numbers of all, as in `AppendBatch.samples`. */
  get numbers(): Float64Array {
    const { numbers } = this.#columns
    return numbers.subarray(this.#firstRow * SAMPLE_NUMBERS, (this.#firstRow + this.rows) * SAMPLE_NUMBERS)
  }

  get hardwareId(): string {
    return this.device.row.hardwareId
  }

  get updatedAtMs(): number {
    return this.receivedAtMs
  }

  get lastRespondedAtMs(): number {
    return this.receivedAtMs
  }

  /** Unless `draft` knows better, all that each of them says. */
  get moves(): readonly Move[] {
    this.#moves ??= Array.from({ length: this.rows }, (_, place) => this.sampleAt(place))
    return this.#moves
  }

  set moves(moves: readonly Move[] | null) {
    this.#moves = moves
  }

  /** Whether there is anything in `moves`, without working it out. */
  get hasMoved(): boolean {
    return this.#moves === null || this.#moves.length > 0
  }

  onStored(from = 0, count = this.rows): void {
    if (this.device.isRegistered) this.#source.onStored(from, count)
    else this.#source.onRefused('device_removed', count)
  }

  onRefused(reason: string, count = this.rows): void {
    this.#source.onRefused(reason, count)
  }

  /** Each of its messages as it would have come the slow way. */
  split(): UplinkMessage[] {
    const { device, connection, receivedAtMs, latestMs } = this
    return Array.from({ length: this.rows }, (_, place) => ({
      ...{ device, connection, receivedAtMs, latestMs, rows: 1, level: 'tlm', isResponse: true },
      ...{ sessionChanges: NOTHING, drops: NOTHING, moves: NOTHING, late: NOTHING, crossings: NOTHING },
      ...{ unverified: null, quarantine: null, stored: null },
      content: {
        ...{ samples: [this.sampleAt(place)], lockEvents: NOTHING, status: null },
        ...{ commandAck: null, applied: null, unreadable: null },
      },
      liveFromMs: receivedAtMs - LIVE_MS,
      onStored: () => this.onStored(place, 1),
      onRefused: (reason: string) => this.onRefused(reason, 1),
    }))
  }

  #note({ atMs, values }: Sample): void {
    if (atMs <= this.newestMs) this.isAscending = false
    else this.newestMs = atMs
    if (this.rows === 0) this.values = values
    for (const key in values) {
      const value = values[key]
      if (value === undefined) continue
      this.values[key] = value
      this.valueAtMs[key] = atMs
    }
  }

  #read(from: number, to: number): Sample | null {
    const text = this.#source.bytes.toString('utf8', from, to)
    // stands in the place of bytes that are no UTF-8, and may be meant: the slow way finds out
    if (text.includes('\uFFFD')) return null
    const raw = parseOrNull(text)
    if (!isJsonObject(raw) || Array.isArray(raw.s)) return null
    const { ts } = raw
    if (!isPlausibleTime(ts, this.latestMs) || ts < this.receivedAtMs - LIVE_MS) return null
    let isWhole = true
    const sample = parseSample(raw, Math.round(ts), () => {
      isWhole = false
    })
    return isWhole && sample !== undefined ? sample : null
  }
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
