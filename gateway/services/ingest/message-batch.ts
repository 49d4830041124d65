import type { TelemetryRun } from '#domain/broker-port.ts'
import { receiveTimeMs } from '#domain/event-time.ts'
import { packSample } from '#domain/latest-state.ts'
import type { RecentMessage } from '#domain/recent-messages.ts'
import type { Sample, Scalar } from '#domain/telemetry.ts'
import type { Move, ReportedRun } from '#gateway/events.ts'
import type { GeofenceEventRow } from '#store/tables/geofence-events.ts'
import { SAMPLE_NUMBERS } from '#store/telemetry/store-samples.ts'
import type { Appendable } from '#store/writer/appender.ts'
import type { Device } from '../fleet.ts'
import type { DeviceConnection } from '../presence.ts'
import type { FastParser } from './fast-parser.ts'
import type { UplinkMessage } from './message.ts'
import type { RunColumns } from './run-columns.ts'
import { LIVE_MS } from './zone-crossings.ts'

/** Whose bytes a run reads, and whom it tells what became of its messages, by their places in it. */
export interface BatchSource {
  readonly device: Device
  readonly connection: DeviceConnection
  /** What came of its connection in one read. */
  readonly bytes: Buffer
  onStored: (from: number, count: number) => void
  onRefused: (reason: string, count: number) => void
}

/** What a run reads with and puts its numbers into, when it began, until when times are believed, and who takes it. */
interface RunStart {
  columns: RunColumns
  reader: FastParser
  receivedAtMs: number
  latestMs: number
  onEnd: (run: MessageBatch) => void
}

const NOTHING: readonly never[] = []

/**
 * Messages of one device, one plain reading each, on the fast lane: read in place, in order, from bytes that came
 * together. Their numbers go into columns at once; whatever else they say stays in the bytes and is read again by the
 * few who ask, so that a message leaves nothing behind that has to be kept, copied and collected.
 */
export class MessageBatch implements Appendable, ReportedRun, TelemetryRun {
  readonly device: Device
  readonly connection: DeviceConnection
  readonly receivedAtMs: number
  readonly latestMs: number
  readonly sessionChanges = NOTHING
  /** How many messages there are. */
  rows = 0
  newestMs = 0
  /** What the last of them says, if all have the same keys. */
  readonly values: Record<string, Scalar> = {}
  /** Places of those that only go to history; filled in by `draft`, like the zones entered and left. */
  late: readonly number[] = NOTHING
  crossings: readonly GeofenceEventRow[] = NOTHING
  /** What of each was new, by `AppendResult.sampleFlags`; null until it is committed. */
  stored: Uint8Array | null = null
  /** What is told of the last of its messages to who looks at them. */
  #noted: readonly RecentMessage[] = NOTHING
  readonly #source: BatchSource
  readonly #columns: RunColumns
  readonly #firstRow: number
  readonly #onEnd: (run: MessageBatch) => void
  readonly #reader: FastParser
  /** Each is later than the one before it and has as many values. */
  #isUniform = true
  #valueCount = 0
  #moves: readonly Move[] | null = null

  constructor(source: BatchSource, { columns, reader, receivedAtMs, latestMs, onEnd }: RunStart) {
    this.#source = source
    this.#onEnd = onEnd
    this.#reader = reader
    this.#columns = columns
    this.#firstRow = columns.used
    this.device = source.device
    this.connection = source.connection
    this.receivedAtMs = receivedAtMs
    this.latestMs = latestMs
  }

  /**
   * Takes the message whose payload lies in the bytes there. False, and nothing is taken, unless it is one object with
   * a recent time of its own, all of which can be used.
   */
  add(from: number, to: number): boolean {
    const { device, receivedAtMs, latestMs } = this
    const row = this.#firstRow + this.rows
    if (!this.#columns.hasRoom(row)) return false
    const { sample } = this.#reader
    sample.values = this.values
    const count = this.#reader.read(this.#source.bytes, from, to, receivedAtMs, latestMs)
    if (this.rows === 0) this.#valueCount = count
    if (count !== this.#valueCount || sample.atMs <= this.newestMs) this.#isUniform = false
    if (count === 0) return false
    this.#columns.set(row, from, to)
    packSample(this.#columns.numbers, row * SAMPLE_NUMBERS, device.row.deviceId, sample)
    this.newestMs = Math.max(this.newestMs, sample.atMs)
    this.rows++
    device.newestReceiveMs = receiveTimeMs(receivedAtMs, device.newestReceiveMs, latestMs)
    return true
  }

  /** Sends its messages, at least one, on their way to the disk; the next run begins behind them. */
  end(): void {
    this.#columns.used = this.#firstRow + this.rows
    this.#onEnd(this)
  }

  /** Has the last of its messages be seen by who looks at the device's, as far as there is room. */
  note(topic: string): void {
    const { device, receivedAtMs: atMs } = this
    const count = Math.min(this.rows, device.recent.roomAt(atMs))
    if (count === 0) return
    const { bytes } = this.#source
    this.#noted = Array.from({ length: count }, (_, i) => this.rows - count + i).flatMap((place) => {
      const message = { atMs, topic, result: 'waiting' }
      return device.recent.take(message, bytes, this.startOf(place), this.endOf(place)) ?? []
    })
  }

  /** All of it is on the disk. */
  noteStored(): void {
    for (const noted of this.#noted) noted.result = 'stored'
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
    const { sample } = this.#reader
    sample.values = {}
    const from = this.startOf(place)
    const { bytes } = this.#source
    const count = this.#reader.read(bytes, from, this.endOf(place), this.receivedAtMs, this.latestMs)
    if (count === 0) throw new Error('a reading that was taken cannot be read again')
    return { ...sample }
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

  /** Whether each is later than the one before it; false where nobody has looked. */
  get isInOrder(): boolean {
    return this.#isUniform
  }

  /** Whether each is later than the one before it and has the same keys, of which there are so many. */
  isUniform(keys: number): boolean {
    return this.#isUniform && keys === this.#valueCount
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
      device,
      connection,
      receivedAtMs,
      latestMs,
      rows: 1,
      level: 'tlm',
      isResponse: true,
      shiftMs: 0,
      sessionChanges: NOTHING,
      drops: NOTHING,
      moves: NOTHING,
      late: NOTHING,
      crossings: NOTHING,
      unverified: null,
      quarantine: null,
      stored: null,
      noted: this.#noted[place - this.rows + this.#noted.length],
      content: {
        samples: [this.sampleAt(place)],
        lockEvents: NOTHING,
        status: null,
        commandAck: null,
        applied: null,
        unreadable: null,
      },
      liveFromMs: receivedAtMs - LIVE_MS,
      onStored: () => this.onStored(place, 1),
      onRefused: (reason: string) => this.onRefused(reason, 1),
    }))
  }
}
