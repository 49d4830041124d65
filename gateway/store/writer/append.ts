import type { SessionChange } from '#domain/mqtt-sessions.ts'
import type { Connection } from '../db/connection.ts'
import { type AckResult, applyCommandAck, commandMetadata, type NewCommandAck } from '../tables/commands.ts'
import { type GeofenceEventRow, insertGeofenceEvent } from '../tables/geofence-events.ts'
import { type LockEventIdentity, storedIdentity } from '../tables/lock-events.ts'
import { applySessionChange } from '../tables/mqtt-sessions.ts'
import { insertQuarantined, type NewQuarantineEntry } from '../tables/quarantine.ts'
import type { WriterTables } from '../telemetry/log-tail.ts'
import { storeSamples } from '../telemetry/store-samples.ts'

/** What devices sent, of many messages, for one transaction. */
export interface AppendBatch {
  /** `SAMPLE_NUMBERS` a sample; NaN is absent. */
  samples: Float64Array
  /** What they change in the states of devices, by `encodeStateChanges`. */
  stateChanges: Uint8Array
  lockEvents: NewLockEvent[]
  quarantined: NewQuarantineEntry[]
  commandAcks: NewCommandAck[]
  /** Changes of what the MQTT broker keeps, in their order. */
  sessionChanges: SessionChange[]
  /** Zones entered and left; absent for none, as in most batches. */
  geofenceEvents?: GeofenceEventRow[]
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
  /** A sample's `GPS_STORED` and `BATTERY_STORED` bits; a repeated one has none. */
  sampleFlags: Uint8Array
  /** Whether each lock event was new. */
  lockEventStored: boolean[]
  /** What the command that caused each lock event said for it, as JSON. */
  lockEventMetadata: (string | null)[]
  commandAcks: AckResult[]
}

const INSERT_LOCK_EVENT = `INSERT OR IGNORE INTO lock_event
  (event_id, hardware_id, short_id, identity, event, source, at_ms, code, command_id, metadata)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
/** Writes a batch; the caller has the transaction. */
export function append(connection: WriterTables, batch: AppendBatch): AppendResult {
  const sampleFlags = storeSamples(connection, batch.samples, batch.stateChanges)
  const lockEventMetadata = batch.lockEvents.map((event) => metadataFor(connection, event))
  const lockEventStored = batch.lockEvents.map((event, i) =>
    insertLockEvent(connection, event, lockEventMetadata[i] ?? null),
  )
  const commandAcks = batch.commandAcks.map((ack) => applyCommandAck(connection, ack))
  insertQuarantined(connection, batch.quarantined)
  for (const event of batch.geofenceEvents ?? []) insertGeofenceEvent(connection, event)
  for (const change of batch.sessionChanges) applySessionChange(connection, change)
  return { sampleFlags, lockEventStored, lockEventMetadata, commandAcks }
}

function metadataFor(connection: Connection, { commandId, hardwareId }: NewLockEvent): string | null {
  return commandId === null ? null : commandMetadata(connection, commandId, hardwareId)
}

function insertLockEvent(connection: Connection, event: NewLockEvent, metadata: string | null): boolean {
  const { eventId, hardwareId, shortId, event: kind, source, atMs, code, commandId } = event
  const values = [eventId, hardwareId, shortId, storedIdentity(event), kind, source, atMs, code, commandId, metadata]
  return connection.run(INSERT_LOCK_EVENT, ...values) > 0
}
