import type { TelemetryRun } from '#domain/broker-port.ts'
import { receiveTimeMs } from '#domain/event-time.ts'
import { packSample } from '#domain/latest-state.ts'
import type { RecentMessage } from '#domain/recent-messages.ts'
import type { Sample } from '#domain/telemetry.ts'
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

/** Source of a batch's bytes, and receiver of the results for its messages, by their index. */
export interface BatchSource {
  readonly device: Device
  readonly connection: DeviceConnection
  /** Data received from its connection in one read. */
  readonly bytes: Buffer
  onStored: (from: number, count: number) => void
  onRefused: (reason: string, count: number) => void
}

/** Target columns and parser of a batch, its time of receipt, the latest credible time, and the receiver at its end. */
interface RunStart {
  columns: RunColumns
  reader: FastParser
  receivedAtMs: number
  latestMs: number
  onEnd: (run: MessageBatch) => void
}

const NOTHING: readonly never[] = []

/**
 * Messages of one device, each with one plain reading, on the fast path: parsed in place, in order, from bytes received
 * together. Their numbers also go into columns, which the store takes as they are.
 */
export class MessageBatch implements Appendable, ReportedRun, TelemetryRun {
  readonly device: Device
  readonly connection: DeviceConnection
  readonly receivedAtMs: number
  readonly latestMs: number
  readonly sessionChanges = NOTHING
  rows = 0
  newestMs = 0
  /** Reading of each message. */
  readonly samples: Sample[] = []
  /** Indexes of messages that only go to history; set by `encode`, like the zone crossings. */
  late: readonly number[] = NOTHING
  crossings: readonly GeofenceEventRow[] = NOTHING
  /** New parts of each message, as in `AppendResult.sampleFlags`; null until the commit. */
  stored: Uint8Array | null = null
  /** Entries of the last messages in the list of recent messages. */
  #noted: readonly RecentMessage[] = NOTHING
  readonly #source: BatchSource
  readonly #columns: RunColumns
  readonly #firstRow: number
  readonly #onEnd: (run: MessageBatch) => void
  readonly #reader: FastParser
  /** Changes of the state; all readings, unless `encode` set others. */
  moves: readonly Move[] = this.samples
  /** True if each message is known to be later than the one before it. */
  isInOrder = true

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
   * Adds the message whose payload is at this offset. Returns false without adding it, unless it is one object with a
   * recent own timestamp and only usable values.
   */
  add(from: number, to: number): boolean {
    const { device, receivedAtMs, latestMs } = this
    const row = this.#firstRow + this.rows
    if (!this.#columns.hasRoom(row)) return false
    const sample = this.#reader.read(this.#source.bytes, from, to, receivedAtMs, latestMs)
    if (sample === undefined) return false
    if (sample.atMs <= this.newestMs) this.isInOrder = false
    this.#columns.set(row, from, to)
    packSample(this.#columns.numbers, row * SAMPLE_NUMBERS, device.row.deviceId, sample)
    this.samples.push(sample)
    this.newestMs = Math.max(this.newestMs, sample.atMs)
    this.rows++
    device.newestReceiveMs = receiveTimeMs(receivedAtMs, device.newestReceiveMs, latestMs)
    return true
  }

  /** Queues the batch, which must not be empty; the next batch uses the columns after it. */
  end(): void {
    this.#columns.used = this.#firstRow + this.rows
    this.#onEnd(this)
  }

  /** Adds the last messages to the device's list of recent messages, as far as there is room. */
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

  noteStored(): void {
    for (const noted of this.#noted) noted.result = 'stored'
  }

  /** Returns the offset of a message's payload in the bytes. */
  startOf(place: number): number {
    return this.#columns.from(this.#firstRow + place)
  }

  endOf(place: number): number {
    return this.#columns.to(this.#firstRow + place)
  }

  /** Numbers of all messages, as in `AppendBatch.samples`. */
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

  onStored(from = 0, count = this.rows): void {
    if (this.device.isRegistered) this.#source.onStored(from, count)
    else this.#source.onRefused('device_removed', count)
  }

  onRefused(reason: string, count = this.rows): void {
    this.#source.onRefused(reason, count)
  }

  /** Returns its messages as the full parser would have built them. */
  split(): UplinkMessage[] {
    const { device, connection, receivedAtMs, latestMs } = this
    return this.samples.map((sample, place) => ({
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
      hasNewFirmware: false,
      unverified: null,
      quarantine: null,
      stored: null,
      noted: this.#noted[place - this.rows + this.#noted.length],
      content: {
        samples: [sample],
        lockEvents: NOTHING,
        status: null,
        commandAck: null,
        call: null,
        applied: null,
        unreadable: null,
      },
      liveFromMs: receivedAtMs - LIVE_MS,
      onStored: () => this.onStored(place, 1),
      onRefused: (reason: string) => this.onRefused(reason, 1),
    }))
  }
}
