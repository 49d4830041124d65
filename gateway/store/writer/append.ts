import type { SessionChange } from '#domain/mqtt-sessions.ts'
import { isBlockTime } from '#shared/telemetry/block-header.ts'
import { BATTERY, type ColumnRule, GPS, NO_SPEED } from '#shared/telemetry/records.ts'
import { type AckResult, applyCommandAck, commandMetadata, type NewCommandAck } from '../commands.ts'
import type { Connection } from '../db/connection.ts'
import { type GeofenceEventRow, insertGeofenceEvent } from '../geofence-events.ts'
import { applySessionChange } from '../mqtt-sessions.ts'
import { allocateBatch, HAS_BATTERY, HAS_GPS, type TelemetryBatch } from '../telemetry/batch.ts'
import type { WriterTables } from '../telemetry/writer-tables.ts'

/** Numbers of a sample in `AppendBatch.samples`: device id, at_ms, lat E7, long E7, speed milli km/h, voltage mV. */
export const SAMPLE_NUMBERS = 6

/** What devices sent, of many messages, for one transaction. */
export interface AppendBatch {
  /** `SAMPLE_NUMBERS` a sample; NaN is absent. */
  samples: Float64Array
  states: StateUpdate[]
  lockEvents: NewLockEvent[]
  quarantined: NewQuarantineEntry[]
  commandAcks: NewCommandAck[]
  /** Changes of what the MQTT broker keeps, in their order. */
  sessionChanges: SessionChange[]
  /** Zones entered and left; absent for none, as in most batches. */
  geofenceEvents?: GeofenceEventRow[]
}

/** The state of a device after the batch; one a device. */
export interface StateUpdate {
  deviceId: number
  latestJson: string
  updatedAtMs: number
  lastRespondedAtMs: number | null
  /** What is known of the device and its zones; absent when that did not change. */
  watchJson?: string | null
}

export interface NewLockEvent {
  eventId: string
  hardwareId: string
  identity: string
  event: string
  source: string
  atMs: number
  code: string | null
  commandId: string | null
}

export interface NewQuarantineEntry {
  receivedAtMs: number
  hardwareId: string
  topic: string
  reason: string
  sizeBytes: number
  payload: Uint8Array
}

export const GPS_STORED = HAS_GPS
export const BATTERY_STORED = HAS_BATTERY

export interface AppendResult {
  /** A sample's `GPS_STORED` and `BATTERY_STORED` bits; a repeated one has none. */
  sampleFlags: Uint8Array
  /** Whether each lock event was new. */
  lockEventStored: boolean[]
  /** What the command that caused each lock event said for it, as JSON. */
  lockEventMetadata: (string | null)[]
  commandAcks: AckResult[]
}

const QUARANTINE_ROWS = 1000

const INSERT_LOCK_EVENT = `INSERT OR IGNORE INTO lock_event
  (event_id, hardware_id, identity, event, source, at_ms, code, command_id, metadata) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
const INSERT_QUARANTINE = `INSERT INTO quarantine
  (received_at_ms, hardware_id, topic, reason, size_bytes, payload) VALUES (?, ?, ?, ?, ?, ?)`
const TRIM_QUARANTINE = `DELETE FROM quarantine
  WHERE quarantine_id <= (SELECT max(quarantine_id) FROM quarantine) - ${QUARANTINE_ROWS}`
const COUNT_RECORDS = `gps_count = gps_count + ?,
    gps_first_ms = min(ifnull(gps_first_ms, ?), ifnull(?, gps_first_ms)),
    gps_last_ms = max(ifnull(gps_last_ms, ?), ifnull(?, gps_last_ms)),
    battery_count = battery_count + ?,
    battery_first_ms = min(ifnull(battery_first_ms, ?), ifnull(?, battery_first_ms)),
    battery_last_ms = max(ifnull(battery_last_ms, ?), ifnull(?, battery_last_ms))`
const UPDATE_STATE = `UPDATE device_state SET
    latest = ?, updated_at_ms = ?, last_responded_at_ms = ?, watch = iif(?, ?, watch),
    ${COUNT_RECORDS}
  WHERE device_id = ?`
const UPDATE_COUNTS = `UPDATE device_state SET ${COUNT_RECORDS} WHERE device_id = ?`

/** New records of a device's stream within one batch. */
class StreamDelta {
  count = 0
  firstMs: number | null = null
  lastMs: number | null = null

  add(atMs: number): void {
    this.count++
    this.firstMs = this.firstMs === null ? atMs : Math.min(this.firstMs, atMs)
    this.lastMs = this.lastMs === null ? atMs : Math.max(this.lastMs, atMs)
  }
}

const NOTHING_NEW: Readonly<StreamDelta> = new StreamDelta()

interface DeviceDelta {
  gps: StreamDelta
  battery: StreamDelta
}

/** Writes a batch; the caller has the transaction. */
export function append(connection: WriterTables, batch: AppendBatch): AppendResult {
  const deltas = new Map<number, DeviceDelta>()
  const sampleFlags = appendSamples(connection, batch.samples, deltas)
  for (const state of batch.states) updateState(connection, state, deltas.get(state.deviceId))
  const lockEventMetadata = batch.lockEvents.map((event) => metadataFor(connection, event))
  const lockEventStored = batch.lockEvents.map((event, i) =>
    insertLockEvent(connection, event, lockEventMetadata[i] ?? null),
  )
  const commandAcks = batch.commandAcks.map((ack) => applyCommandAck(connection, ack))
  for (const entry of batch.quarantined) insertQuarantine(connection, entry)
  if (batch.quarantined.length > 0) connection.run(TRIM_QUARANTINE)
  for (const event of batch.geofenceEvents ?? []) insertGeofenceEvent(connection, event)
  for (const change of batch.sessionChanges) applySessionChange(connection, change)
  return { sampleFlags, lockEventStored, lockEventMetadata, commandAcks }
}

/**
 * Stores samples that move no state, and counts those that are new; the caller has the transaction.
 * Returns what is `AppendResult.sampleFlags` there.
 */
export function storeSamples(connection: WriterTables, samples: Float64Array): Uint8Array {
  const deltas = new Map<number, DeviceDelta>()
  const flags = appendSamples(connection, samples, deltas)
  for (const [deviceId, delta] of deltas) connection.run(UPDATE_COUNTS, ...countsOf(delta), deviceId)
  return flags
}

/** Stores those samples that are new. Returns the bits of `AppendResult.sampleFlags`. */
function appendSamples(
  { tail }: WriterTables,
  samples: Float64Array,
  deltas: Map<number, DeviceDelta>,
): Uint8Array {
  if (samples.length === 0) return new Uint8Array()
  const batch = toBatch(samples)
  const flags = tail.append(batch)
  for (let i = 0; i < batch.count; i++) {
    const deviceId = batch.deviceId[i] ?? 0
    const atMs = batch.atMs[i] ?? 0
    const stored = flags[i] ?? 0
    let delta = deltas.get(deviceId)
    if (delta === undefined) {
      delta = { gps: new StreamDelta(), battery: new StreamDelta() }
      deltas.set(deviceId, delta)
    }
    if ((stored & GPS_STORED) !== 0) delta.gps.add(atMs)
    if ((stored & BATTERY_STORED) !== 0) delta.battery.add(atMs)
  }
  return flags
}

/** Throws `RangeError` for what no block could hold: it is found now, while the device can still be told. */
function toBatch(samples: Float64Array): TelemetryBatch {
  const batch = allocateBatch(samples.length / SAMPLE_NUMBERS)
  for (let i = 0; i < batch.count; i++) {
    const at = i * SAMPLE_NUMBERS
    batch.deviceId[i] = samples[at] ?? 0
    batch.atMs[i] = takeTime(samples[at + 1])
    const latE7 = samples[at + 2] ?? Number.NaN
    if (!Number.isNaN(latE7)) {
      const speed = samples[at + 4] ?? Number.NaN
      batch.streams[i] = HAS_GPS
      batch.latE7[i] = take(latE7, GPS.rules[0])
      batch.longE7[i] = take(samples[at + 3], GPS.rules[1])
      batch.speedMilliKmh[i] = Number.isNaN(speed) ? NO_SPEED : take(speed, GPS.rules[2])
    }
    const voltageMv = samples[at + 5] ?? Number.NaN
    if (!Number.isNaN(voltageMv)) {
      batch.streams[i] = (batch.streams[i] ?? 0) | HAS_BATTERY
      batch.voltageMv[i] = take(voltageMv, BATTERY.rules[0])
    }
  }
  return batch
}

function takeTime(atMs: number | undefined): number {
  if (atMs === undefined || !isBlockTime(atMs)) throw new RangeError(`time ${atMs}`)
  return atMs
}

function take(value: number | undefined, rule: ColumnRule | undefined): number {
  if (rule === undefined || value === undefined || !Number.isInteger(value))
    throw new RangeError(`value ${value}`)
  if (value < rule.min || value > rule.max) throw new RangeError(`${rule.name} ${value}`)
  return value
}

function updateState(connection: Connection, state: StateUpdate, delta: DeviceDelta | undefined): void {
  connection.run(
    UPDATE_STATE,
    state.latestJson,
    state.updatedAtMs,
    state.lastRespondedAtMs,
    Number(state.watchJson !== undefined),
    state.watchJson ?? null,
    ...countsOf(delta),
    state.deviceId,
  )
}

/** The values of `COUNT_RECORDS`. */
function countsOf(delta: DeviceDelta | undefined): (number | null)[] {
  return [delta?.gps ?? NOTHING_NEW, delta?.battery ?? NOTHING_NEW].flatMap(({ count, firstMs, lastMs }) => [
    count,
    firstMs,
    firstMs,
    lastMs,
    lastMs,
  ])
}

function metadataFor(connection: Connection, { commandId, hardwareId }: NewLockEvent): string | null {
  return commandId === null ? null : commandMetadata(connection, commandId, hardwareId)
}

function insertLockEvent(connection: Connection, event: NewLockEvent, metadata: string | null): boolean {
  const { eventId, hardwareId, identity, event: kind, source, atMs, code, commandId } = event
  const values = [eventId, hardwareId, identity, kind, source, atMs, code, commandId, metadata]
  return connection.run(INSERT_LOCK_EVENT, ...values) > 0
}

function insertQuarantine(connection: Connection, entry: NewQuarantineEntry): void {
  const { receivedAtMs, hardwareId, topic, reason, sizeBytes, payload } = entry
  connection.run(INSERT_QUARANTINE, receivedAtMs, hardwareId, topic, reason, sizeBytes, payload)
}
