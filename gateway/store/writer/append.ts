import type { SessionChange } from '#domain/mqtt-sessions.ts'
import { insertCall, type NewCall } from '../calls/cart-calls.ts'
import type { Connection } from '../db/connection.ts'
import { type AckResult, applyCommandAck, commandMetadata, type NewCommandAck } from '../tables/commands.ts'
import { type GeofenceEventRow, insertGeofenceEvent } from '../tables/geofence-events.ts'
import { type LockEventIdentity, storedIdentity } from '../tables/lock-events.ts'
import { applySessionChange } from '../tables/mqtt-sessions.ts'
import { insertQuarantined, type NewQuarantineEntry } from '../tables/quarantine.ts'
import type { WriterTables } from '../telemetry/log-tail.ts'
import { storeSamples } from '../telemetry/store-samples.ts'

/** Rows of many device messages, for one transaction. */
export interface AppendBatch {
  /** `SAMPLE_NUMBERS` numbers a sample; NaN for an absent one. */
  samples: Float64Array
  /** Resulting state changes of devices, from `encodeStateChanges`. */
  stateChanges: Uint8Array
  lockEvents: NewLockEvent[]
  quarantined: NewQuarantineEntry[]
  commandAcks: NewCommandAck[]
  /** Changes of the MQTT broker's stored sessions, in order. */
  sessionChanges: SessionChange[]
  /** Zone entries and exits; absent in most batches, which have none. */
  geofenceEvents?: GeofenceEventRow[]
  /** Calls from carts; absent in most batches. */
  calls?: NewCall[]
}

export interface NewLockEvent extends LockEventIdentity {
  eventId: string
  event: string
  source: string
  atMs: number
  code: string | null
  commandId: string | null
}

export interface AppendResult {
  /** `GPS_STORED` and `BATTERY_STORED` bits of each sample; 0 for a repeated one. */
  sampleFlags: Uint8Array
  /** True for each lock event that was new. */
  lockEventStored: boolean[]
  /** Metadata of the command that caused each lock event, as JSON. */
  lockEventMetadata: (string | null)[]
  commandAcks: AckResult[]
  /** True for each call that was new. */
  callStored: boolean[]
}

const INSERT_LOCK_EVENT = `INSERT OR IGNORE INTO lock_event
  (event_id, hardware_id, short_id, identity, event, source, at_ms, code, command_id, metadata)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
/** Writes a batch; the caller holds the transaction. */
export function append(connection: WriterTables, batch: AppendBatch): AppendResult {
  const sampleFlags = storeSamples(connection, batch.samples, batch.stateChanges)
  const lockEventMetadata = batch.lockEvents.map((event) => metadataFor(connection, event))
  const lockEventStored = batch.lockEvents.map((event, i) =>
    insertLockEvent(connection, event, lockEventMetadata[i] ?? null),
  )
  const commandAcks = batch.commandAcks.map((ack) => applyCommandAck(connection, ack))
  const callStored = (batch.calls ?? []).map((call) => insertCall(connection, call, storedIdentity(call)))
  insertQuarantined(connection, batch.quarantined)
  for (const event of batch.geofenceEvents ?? []) insertGeofenceEvent(connection, event)
  for (const change of batch.sessionChanges) applySessionChange(connection, change)
  return { sampleFlags, lockEventStored, lockEventMetadata, commandAcks, callStored }
}

function metadataFor(connection: Connection, { commandId, hardwareId }: NewLockEvent): string | null {
  return commandId === null ? null : commandMetadata(connection, commandId, hardwareId)
}

function insertLockEvent(connection: Connection, event: NewLockEvent, metadata: string | null): boolean {
  const { eventId, hardwareId, shortId, event: kind, source, atMs, code, commandId } = event
  const values = [eventId, hardwareId, shortId, storedIdentity(event), kind, source, atMs, code, commandId, metadata]
  return connection.run(INSERT_LOCK_EVENT, ...values) > 0
}
