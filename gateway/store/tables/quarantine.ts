import type { SessionChange } from '#domain/mqtt-sessions.ts'
import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'
import { applySessionChange } from './mqtt-sessions.ts'

export const quarantineTable = table('quarantine', {
  care: {
    what: 'the payloads that could not be parsed',
    size: 'large',
    meaning: 'Missing ones are not listed.',
  },
})

export interface NewQuarantineEntry {
  receivedAtMs: number
  hardwareId: string
  topic: string
  reason: string
  sizeBytes: number
  payload: Uint8Array
}

const QUARANTINE_ROWS = 1000

const INSERT_QUARANTINE = `INSERT INTO quarantine
  (received_at_ms, hardware_id, topic, reason, size_bytes, payload) VALUES (?, ?, ?, ?, ?, ?)`
const TRIM_QUARANTINE = `DELETE FROM quarantine
  WHERE quarantine_id <= (SELECT max(quarantine_id) FROM quarantine) - ${QUARANTINE_ROWS}`
/** Keeps payloads that could not be parsed, the newest 1000; the caller holds the transaction. */
export function insertQuarantined(connection: Connection, entries: readonly NewQuarantineEntry[]): void {
  for (const { receivedAtMs, hardwareId, topic, reason, sizeBytes, payload } of entries)
    connection.run(INSERT_QUARANTINE, receivedAtMs, hardwareId, topic, reason, sizeBytes, payload)
  if (entries.length > 0) connection.run(TRIM_QUARANTINE)
}

/** Keeps a message whose rows could not be stored, together with the session changes of the MQTT broker. */
export const quarantineMessage = write(
  (
    connection: Connection,
    { entry, sessionChanges }: { entry: NewQuarantineEntry; sessionChanges: readonly SessionChange[] },
  ): null => {
    insertQuarantined(connection, [entry])
    for (const change of sessionChanges) applySessionChange(connection, change)
    return null
  },
  {
    // content of a device
    audit: null,
  },
)

/** Payloads that could not be parsed, newest first. */
export function listQuarantine(connection: Connection, limit: number): NewQuarantineEntry[] {
  return connection.all<NewQuarantineEntry>(
    `SELECT received_at_ms, hardware_id, topic, reason, size_bytes, payload
     FROM quarantine ORDER BY quarantine_id DESC LIMIT ?`,
    limit,
  )
}
